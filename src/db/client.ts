// The connection to Postgres. One pool serves both styles of statement: postgres.js tagged templates
// for the hot and guarded ones, drizzle's builder for cold single-table work.
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'

export type Sql = postgres.Sql
export type Transaction = postgres.TransactionSql
/** A part of a statement, to be put into another one. */
export type Fragment = postgres.Fragment

export interface Store {
  readonly sql: Sql
  readonly orm: PostgresJsDatabase
  close(): Promise<void>
}

export interface StoreOptions {
  readonly url: string
  /** Shown in pg_stat_activity, so that an operator sees whose connection it is. */
  readonly applicationName: string
  readonly poolSize: number
  /** Bounds connecting, and each statement on the server, in milliseconds. */
  readonly timeoutMs: number
  /** Each connection steps down to this role; without one it stays the user of the URL. */
  readonly role?: string
}

/** After an outage new connections are tried at least this often, so that recovery is prompt. */
const RECONNECT_DELAY_MAX_SECONDS = 0.5

/**
 * Opens a pool; connections are made when they are first needed.
 *
 * Drizzle replaces the client's serialisers by the identity, for JSON and timestamps: a statement
 * passes JSON as text with a `::jsonb` cast, and timestamps come back as text.
 */
export function openStore(options: StoreOptions): Store {
  const sql = postgres(options.url, {
    max: options.poolSize,
    connect_timeout: Math.ceil(options.timeoutMs / 1_000),
    backoff: (tries) => Math.min(0.05 * 2 ** tries, RECONNECT_DELAY_MAX_SECONDS),
    onnotice: () => {},
    connection: {
      application_name: options.applicationName,
      statement_timeout: options.timeoutMs,
      idle_in_transaction_session_timeout: options.timeoutMs,
      ...(options.role === undefined ? {} : { role: options.role }),
    },
  })
  const orm = drizzle({ client: sql })
  return { sql, orm, close: () => sql.end({ timeout: 5 }) }
}
