// The one address that clients know: it passes their connections on to whichever API process serves now, as a
// load balancer does. With nobody to serve, it hangs up.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

export class ApiRelay {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #port: number | undefined

  private constructor() {
    this.#server = createServer((client) => this.#serve(client))
  }

  static async open(): Promise<ApiRelay> {
    const relay = new ApiRelay()
    relay.#server.listen(0, '127.0.0.1')
    await once(relay.#server, 'listening')
    return relay
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** @param port undefined: nobody serves. */
  passTo(port: number | undefined): void {
    this.#port = port
  }

  /** Ends every connection, on either side. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #serve(client: Socket): void {
    if (this.#port === undefined) {
      client.destroy()
      return
    }
    const server = connect(this.#port, '127.0.0.1')
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket)
      socket.setNoDelay().on('error', () => {})
      socket.on('data', (chunk) => other.write(chunk))
      socket.on('end', () => other.end())
      socket.on('close', () => {
        this.#sockets.delete(socket)
        other.destroy()
      })
    }
  }
}
