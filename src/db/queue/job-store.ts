// The connections over which pg-boss works: those of the driver that all other statements use, because it
// prepares each statement once, and sends those of several jobs one behind the other.
import type { Db } from 'pg-boss'
import {
  arrayTypes,
  CLOSE_SECONDS,
  connectDriver,
  type Sql,
  type StoreOptions,
} from '../connection/client.ts'
import { openPool } from '../connection/pool.ts'
import { SERVICE_ROLE } from '../migrations/service-role.ts'

export interface JobStore extends Db {
  close(): Promise<void>
}

/** Enough for one to be held by maintenance, which takes its time, while jobs come and go. */
const POOL_SIZE = 3

/** The server bounds none of its statements, and maintenance may take its time. */
const LATE_FACTOR = 6

/** pg-boss hands JSON over as text, which the driver would quote once more, or as an object. */
const json = {
  serialize: (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)),
  parse: (text: string): unknown => JSON.parse(text),
}

/** Of a text without values: such a one cannot be prepared. */
const SEVERAL = /;\s*\S/

/** @throws at the first statement, not here, when the database is out of reach. */
export function openJobStore({
  url,
  applicationName,
  timeoutMs,
}: Pick<StoreOptions, 'url' | 'applicationName' | 'timeoutMs'>): JobStore {
  const own = {
    types: {
      ...arrayTypes,
      json: { ...json, to: 114, from: [114] },
      jsonb: { ...json, to: 3802, from: [3802] },
    },
    connection: {
      application_name: applicationName,
      role: SERVICE_ROLE,
      // A batch is settled by a join with a function that Postgres takes for a hundred rows, and a table
      // of some thousand jobs would be read from end to end for each of them.
      enable_seqscan: 'off',
      // What the server loses of them when it dies is done once more: a job says only where to look.
      synchronous_commit: 'off',
    },
  }
  const connect = () => connectDriver({ url, timeoutMs }, own)
  const sql = openPool(POOL_SIZE, connect, LATE_FACTOR * timeoutMs)
  const scripts = new Scripts(connect)
  return {
    async executeSql(text, values = []) {
      const isScript = values.length === 0 && SEVERAL.test(text)
      if (isScript) return { rows: await scripts.execute(text) }
      return { rows: [...(await sql.unsafe(text, values as never[], { prepare: true }))] }
    },
    async listen(channel, heard, listening) {
      const subscription = await sql.listen(channel, heard, listening)
      return { close: () => subscription.unlisten() }
    },
    async close() {
      await Promise.all([scripts.close(), sql.end({ timeout: CLOSE_SECONDS })])
    },
  }
}

/**
 * Several statements at once, which may begin and end a transaction, each over a connection that nobody else has
 * meanwhile. The one that has ended well is kept for the next. The others are not: they may be in a transaction
 * that has failed, nor does the driver (postgres 3.4.9) get over it when one is lost in the middle: the next
 * statement over it ends the process, or finds the script's rows before its own.
 */
class Scripts {
  readonly #connect: () => Sql
  #kept: Sql | undefined
  #isClosed = false

  constructor(connect: () => Sql) {
    this.#connect = connect
  }

  async execute(text: string): Promise<unknown[]> {
    const connection = this.#kept ?? this.#connect()
    this.#kept = undefined
    try {
      const rows = (await connection.unsafe(text).simple()).flat()
      if (!this.#isClosed) this.#kept ??= connection
      return rows
    } finally {
      if (this.#kept !== connection) await connection.end({ timeout: 0 })
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#kept?.end({ timeout: 0 })
  }
}
