// Stands between one process under test and PostgreSQL, cuts what they say into messages, and asks the watch
// before and after each one that is part of an operation's statement.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import type { Role } from './points.ts'
import { StoreLink } from './store-link.ts'
import type { Watch } from './watch.ts'

export class StoreProxy {
  readonly #server: Server
  readonly #links = new Set<StoreLink>()
  /** When the store was out of reach, by the clock of `performance`. */
  readonly absences: { readonly from: number; readonly to: number }[] = []
  /** The errors that PostgreSQL itself has answered so far, by their SQLSTATE. */
  readonly heard: string[] = []
  #isShut = false

  private constructor(server: Server) {
    this.#server = server
  }

  /** @param serverPort where PostgreSQL listens on this machine. */
  static async open(role: Role, serverPort: number, watch: Watch): Promise<StoreProxy> {
    const server = createServer()
    const proxy = new StoreProxy(server)
    server.on('connection', (client: Socket) => {
      if (proxy.#isAway || proxy.#isShut) {
        client.on('error', () => {}).destroy()
        return
      }
      const heard = (sqlState: string) => void proxy.heard.push(sqlState)
      const link = new StoreLink({ role, client, serverPort, watch, heard })
      proxy.#links.add(link)
      link.whenOver(() => proxy.#links.delete(link))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Ends every connection, and for a while each new one. */
  leave(forMs: number): void {
    const from = performance.now()
    this.absences.push({ from, to: from + forMs })
    for (const link of this.#links) link.end()
  }

  /** Ends every connection, and each new one until `reopen`. */
  shut(): void {
    this.#isShut = true
    for (const link of this.#links) link.end()
  }

  reopen(): void {
    this.#isShut = false
  }

  get #isAway(): boolean {
    const last = this.absences.at(-1)
    return last !== undefined && performance.now() < last.to
  }

  /**
   * Ends the connections that statements were prepared on, each when nothing is under way on it: the next
   * operation prepares them anew, and so comes to the same points each time.
   */
  async dropPrepared(): Promise<void> {
    const pool = [...this.#links].filter(({ isOfPool }) => isOfPool)
    const over = pool.map((link) => new Promise<void>((resolve) => link.whenOver(resolve)))
    for (const link of pool) link.endWhenIdle()
    await Promise.all(over)
  }

  /** Ends the connections that were stalled; whoever waits on one learns it now. */
  dropStalled(): void {
    for (const link of this.#links) if (link.isStalled) link.end()
  }

  async close(): Promise<void> {
    for (const link of this.#links) link.end()
    this.#server.close()
    if (this.#server.listening) await once(this.#server, 'close')
  }
}
