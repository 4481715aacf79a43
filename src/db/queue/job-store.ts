// Opens the connections of pg-boss, with the same driver as all other statements: it prepares each
// statement once, and pipelines the statements of several jobs.
import type { Db } from 'pg-boss'
import { arrayTypes, CLOSE_SECONDS, type Sql, type StoreOptions } from '../connection/client.ts'
import { readDatabase } from '../connection/driver.ts'
import { openPool } from '../connection/pool/pool.ts'
import { Session } from '../connection/pool/session.ts'

export interface JobStore extends Db {
  /** For our own statements on jobs. */
  readonly sql: Sql
  close(): Promise<void>
}

interface JobStoreOptions extends Pick<
  StoreOptions,
  'url' | 'applicationName' | 'timeoutMs' | 'role' | 'failed'
> {}

/**
 * Three connections: slow maintenance statements may occupy one while jobs are fetched and
 * completed.
 */
const POOL_SIZE = 3

/** A high limit: the server does not limit pg-boss's statements, and maintenance may be slow. */
const STATEMENT_LIMIT_FACTOR = 6

/** pg-boss passes JSON as text, which the driver would encode again, or as an object. */
const json = {
  serialize: (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)),
  parse: (text: string): unknown => JSON.parse(text),
}

/** Matches a text of several statements. Postgres cannot prepare such a text. */
const SEVERAL_STATEMENTS = /;\s*\S/

/**
 * Opens the connections.
 *
 * @throws ConfigError when the URL, or a file that it names, is wrong.
 * @throws at the first statement, not here, when the database is unreachable.
 */
export function openJobStore({
  url,
  applicationName,
  timeoutMs,
  failed,
  role,
}: JobStoreOptions): JobStore {
  const driver = {
    types: {
      ...arrayTypes,
      json: { ...json, to: 114, from: [114] },
      jsonb: { ...json, to: 3802, from: [3802] },
    },
    connection: { application_name: applicationName },
  }
  const settings = {
    ...(role === undefined ? {} : { role }),
    idle_in_transaction_session_timeout: timeoutMs,
    // pg-boss completes a batch by a join with a function that Postgres estimates at a hundred
    // rows. With sequential scans, it would read a table of some thousand jobs completely for
    // each batch.
    enable_seqscan: 'off',
    // Without sequential scans the costs of others are so high that PostgreSQL would compile them.
    jit: 'off',
    // A crash of the server may lose recent changes of jobs. The jobs then run again, which is
    // harmless: a job only names an operation.
    synchronous_commit: 'off',
  }
  const database = readDatabase(url, timeoutMs)
  const connect = () => new Session(database, driver, settings)
  const limitMs = STATEMENT_LIMIT_FACTOR * timeoutMs
  const { sql } = openPool({ size: POOL_SIZE, connect, limitMs, database, failed })
  return {
    sql,
    async executeSql(text, values = []) {
      const isScript = values.length === 0 && SEVERAL_STATEMENTS.test(text)
      const answer = await sql.unsafe(text, values as never[], { prepare: !isScript })
      return { rows: answer.flat() }
    },
    async close() {
      await sql.end({ timeout: CLOSE_SECONDS })
    },
  }
}
