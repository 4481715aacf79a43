// The connections that the programs of a replay have, one after the other: on a new one PostgreSQL would read its
// catalogue and plan every statement anew.
import { connectDriver, types, type Sql } from '../../../src/db/connection/client.ts'

const TIMEOUT_MS = 20_000

export class Connections {
  readonly #url: string
  readonly #all: Sql[] = []
  readonly #free: Sql[] = []

  constructor(url: string) {
    this.#url = url
  }

  acquire(): Sql {
    const free = this.#free.pop()
    if (free !== undefined) return free
    const connection = connectDriver({ url: this.#url, timeoutMs: TIMEOUT_MS }, { types })
    this.#all.push(connection)
    return connection
  }

  /** No transaction is open on it. */
  release(sql: Sql): void {
    this.#free.push(sql)
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((sql) => sql.end({ timeout: 0 })))
  }
}
