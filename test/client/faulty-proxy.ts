// A TCP proxy in front of a real service that injects connection faults. The test lists the faults;
// each new connection gets the next one.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/**
 * `lose`: the request is dropped and the connection is reset. `hold`: the request is dropped and
 * the connection stays open. `cut`: the request arrives, and the connection is reset when the
 * answer begins.
 */
type ConnectionFault = 'lose' | 'hold' | 'cut'

export interface FaultyProxy {
  readonly url: string
  /** The URL to which new connections are forwarded. */
  target: string
  /** The faults of the next connections. Later connections have none. */
  readonly faults: ConnectionFault[]
  /** The faults injected so far, in order. */
  readonly applied: ConnectionFault[]
  /** Resolves once this fault has been injected. */
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
    // The faults cause these errors.
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
