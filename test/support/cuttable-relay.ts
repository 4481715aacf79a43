// Relays TCP connections, and can be cut off from one moment to the next, as a network is: nothing
// arrives any more, and no connection ends.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface CuttableRelay {
  readonly port: number
  /** The URL of a database, through the relay. */
  to(url: URL): string
  cut(): void
  /** New connections work again; those that were cut stay silent. */
  acceptNew(): void
  /** What was sent in the meantime arrives now. */
  heal(): void
  /** Ends all connections. */
  reset(): void
  close(): Promise<void>
}

/** @param targetPort asked for each connection: the server may start later. */
export async function startCuttableRelay(targetPort: () => number): Promise<CuttableRelay> {
  const sockets = new Set<Socket>()
  const silent = new WeakSet<Socket>()
  let isCut = false
  const silence = (socket: Socket) => {
    silent.add(socket)
    socket.pause()
  }
  const relay = (client: Socket) => {
    const target = connect(targetPort(), '127.0.0.1')
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from)
      from.setNoDelay()
      from
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(from)
          // A machine that was cut off does not hear of an end.
          if (!silent.has(from)) to.destroy()
        })
      from.pipe(to)
      if (isCut) silence(from)
    }
  }
  const server = createServer(relay)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    to: (url) => Object.assign(new URL(url), { port: String(port) }).href,
    cut() {
      isCut = true
      for (const socket of sockets) silence(socket)
    },
    acceptNew() {
      isCut = false
    },
    heal() {
      isCut = false
      for (const socket of sockets) {
        silent.delete(socket)
        socket.resume()
      }
    },
    reset() {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      if (server.listening) await once(server, 'close')
    },
  }
}
