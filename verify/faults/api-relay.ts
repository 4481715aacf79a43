// The fixed address of a lane for its clients. It forwards connections to the current API process,
// as a load balancer does, and closes them while there is none.
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

  /** @param port undefined: no API serves. */
  passTo(port: number | undefined): void {
    this.#port = port
  }

  /** Closes every connection, on both sides. */
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
