// A server that does on its sockets what no HTTP library would do.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'

export interface RawServer {
  /** `http://127.0.0.1:<port>/`, or with `https`. */
  readonly url: string
  /** How many connections are open. */
  readonly open: () => number
  stop(): Promise<void>
}

/**
 * @param answer is called with each connection when its first bytes have arrived.
 * @param tls whether the server speaks TLS, and with which certificate.
 */
export async function startRawServer(
  answer: (socket: Socket) => void,
  tls?: TlsOptions,
): Promise<RawServer> {
  const sockets = new Set<Socket>()
  const serve = (socket: Socket) => {
    socket.on('error', () => {}).once('end', () => socket.end())
    socket.once('data', () => {
      socket.resume()
      answer(socket)
    })
  }
  const options = { allowHalfOpen: true }
  const server: Server = tls
    ? createTlsServer({ ...options, ...tls }, serve).on('tlsClientError', () => {})
    : createServer(options, serve)
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('end', () => socket.end())
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/`,
    open: () => sockets.size,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
