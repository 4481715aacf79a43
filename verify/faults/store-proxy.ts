// A proxy between one process under test and PostgreSQL. It splits the stream into messages and
// calls the watch before and after each message of an operation's statement.
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import type { Role } from './points.ts'
import { StoreLink } from './store-link.ts'
import type { Watch } from './watch.ts'

export class StoreProxy {
  readonly #server: Server
  readonly #links = new Set<StoreLink>()
  /** When the store was unreachable, by the clock of `performance`. */
  readonly absences: { readonly from: number; readonly to: number }[] = []
  /** The SQLSTATEs of all errors from PostgreSQL itself so far. */
  readonly sqlErrors: string[] = []
  #isShut = false

  private constructor(server: Server) {
    this.#server = server
  }

  /** @param serverPort the port of PostgreSQL on this machine. */
  static async open(role: Role, serverPort: number, watch: Watch): Promise<StoreProxy> {
    const server = createServer()
    const proxy = new StoreProxy(server)
    server.on('connection', (client: Socket) => {
      if (proxy.#isAway || proxy.#isShut) {
        client.on('error', () => {}).destroy()
        return
      }
      const onError = (sqlState: string) => void proxy.sqlErrors.push(sqlState)
      const link = new StoreLink({ role, client, serverPort, watch, onError })
      proxy.#links.add(link)
      link.onClose(() => proxy.#links.delete(link))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Ends every connection, and each new one for a while. */
  disconnect(forMs: number): void {
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
   * Ends the connections with prepared statements, each as soon as it is idle. The next operation
   * prepares its statements again and reaches the same points each time.
   */
  async dropPrepared(): Promise<void> {
    const pool = [...this.#links].filter(({ isPooled }) => isPooled)
    const over = pool.map((link) => new Promise<void>((resolve) => link.onClose(resolve)))
    for (const link of pool) link.endWhenIdle()
    await Promise.all(over)
  }

  /** Ends the stalled connections, so that a process that waits on one notices. */
  dropStalled(): void {
    for (const link of this.#links) if (link.isStalled) link.end()
  }

  async close(): Promise<void> {
    for (const link of this.#links) link.end()
    this.#server.close()
    if (this.#server.listening) await once(this.#server, 'close')
  }
}
