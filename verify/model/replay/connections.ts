// Pool of connections for the programs of a replay, used one after the other. On a new connection
// PostgreSQL would read its catalog and plan every statement again.
import { types, type Sql } from '../../../src/db/connection/client.ts'
import { connectDriver, readDatabase } from '../../../src/db/connection/driver.ts'

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
    const connection = connectDriver(readDatabase(this.#url, TIMEOUT_MS), { types })
    this.#all.push(connection)
    return connection
  }

  /** The connection must have no open transaction. */
  release(sql: Sql): void {
    this.#free.push(sql)
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((sql) => sql.end({ timeout: 0 })))
  }
}
