// A TCP proxy in front of a real service, which does to each new connection, in turn, what the test says: for
// what networks do between a client and a service that are both in order.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/**
 * `lose`: the request never arrives. `hold`: neither does it, and the client is not told. `cut`: the request
 * arrives, and the connection is reset as its answer begins.
 */
export type Fate = 'lose' | 'hold' | 'cut'

export interface FaultyProxy {
  readonly url: string
  /** Where the connections that are made from now on lead. */
  target: string
  /** What becomes of the next connections; those after them come through. */
  readonly fates: Fate[]
  /** Of each fate, when it was met. */
  readonly met: Fate[]
  /** Resolves when a connection meets that fate, or at once when one has. */
  until(fate: Fate): Promise<void>
  stop(): Promise<void>
}

export async function startFaultyProxy(target = ''): Promise<FaultyProxy> {
  const sockets = new Set<Socket>()
  const waiting = new Map<Fate, PromiseWithResolvers<void>>()
  const waitFor = (fate: Fate) => {
    const wait = waiting.get(fate) ?? Promise.withResolvers<void>()
    waiting.set(fate, wait)
    return wait
  }
  const keep = (socket: Socket) => {
    sockets.add(socket)
    // What a broken connection says is what the test wants of it.
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    return socket
  }
  const meet = (fate: Fate) => {
    proxy.met.push(fate)
    waitFor(fate).resolve()
  }
  const forward = (client: Socket, fate: Fate | undefined) => {
    const { hostname, port } = new URL(proxy.target)
    const service = keep(connect(Number(port), hostname))
    client.pipe(service)
    client.on('close', () => service.destroy())
    if (fate === undefined) {
      service.pipe(client)
      service.on('close', () => client.destroy())
      return
    }
    service.once('data', () => {
      client.resetAndDestroy()
      meet(fate)
    })
  }
  const server = createServer((client) => {
    keep(client)
    const fate = proxy.fates.shift()
    if (fate === undefined || fate === 'cut') {
      forward(client, fate)
      return
    }
    client.once('data', () => {
      if (fate === 'lose') client.resetAndDestroy()
      meet(fate)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy: FaultyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target,
    fates: [],
    met: [],
    until: (fate) => waitFor(fate).promise,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
  return proxy
}
