// A TCP proxy in front of a real service, which does to each new connection, in turn, what the test says: for
// what networks do between a client and a service that are both in order.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/**
 * `lose`: the request never arrives. `hold`: neither does it, and the client is not told. `cut`: the request
 * arrives, and the connection is reset as its answer begins.
 */
export type ConnectionFault = 'lose' | 'hold' | 'cut'

export interface FaultyProxy {
  readonly url: string
  /** Where the connections that are made from now on lead. */
  target: string
  /** What becomes of the next connections; those after them come through. */
  readonly faults: ConnectionFault[]
  /** Of each fault, when it was met. */
  readonly applied: ConnectionFault[]
  /** Resolves when a connection meets that fault, or at once when one has. */
  waitUntilApplied(fault: ConnectionFault): Promise<void>
  stop(): Promise<void>
}

export async function startFaultyProxy(target = ''): Promise<FaultyProxy> {
  const sockets = new Set<Socket>()
  const waiting = new Map<ConnectionFault, PromiseWithResolvers<void>>()
  const waitFor = (fault: ConnectionFault) => {
    const wait = waiting.get(fault) ?? Promise.withResolvers<void>()
    waiting.set(fault, wait)
    return wait
  }
  const keep = (socket: Socket) => {
    sockets.add(socket)
    // What a broken connection says is what the test wants of it.
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    return socket
  }
  const recordApplied = (fault: ConnectionFault) => {
    proxy.applied.push(fault)
    waitFor(fault).resolve()
  }
  const forward = (client: Socket, fault: ConnectionFault | undefined) => {
    const { hostname, port } = new URL(proxy.target)
    const service = keep(connect(Number(port), hostname))
    client.pipe(service)
    client.on('close', () => service.destroy())
    if (fault === undefined) {
      service.pipe(client)
      service.on('close', () => client.destroy())
      return
    }
    service.once('data', () => {
      client.resetAndDestroy()
      recordApplied(fault)
    })
  }
  const server = createServer((client) => {
    keep(client)
    const fault = proxy.faults.shift()
    if (fault === undefined || fault === 'cut') {
      forward(client, fault)
      return
    }
    client.once('data', () => {
      if (fault === 'lose') client.resetAndDestroy()
      recordApplied(fault)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy: FaultyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target,
    faults: [],
    applied: [],
    waitUntilApplied: (fault) => waitFor(fault).promise,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
  return proxy
}
