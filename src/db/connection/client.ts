// Opens the connections to Postgres: a pool, and one connection that listens.
import type postgres from 'postgres'
import { parse as parseArray } from 'postgres-array'
import { readDatabase, type Database, type DriverOptions } from './driver.ts'
import { Listener } from './listener.ts'
import { openPool } from './pool/pool.ts'
import { TENANTS_SETTING } from './transaction.ts'
import { Session } from './pool/session.ts'
import type { StoreErrorKind } from './store-errors.ts'

export type Sql = postgres.Sql
export type Transaction = postgres.TransactionSql
/** A part of a statement, embedded into another one. */
export type Fragment = postgres.Fragment

export interface Store {
  readonly sql: Sql
  /** The pool for the statements of one tenant, which leave connections to others. */
  readonly ofTenant: (tenantId: string) => Sql
  /**
   * Listens on a channel until the store is closed, over a connection that all channels share. Calls
   * `onListening` with true when notifications arrive from now on, and with false when they stop. A
   * channel has one receiver.
   */
  listen(
    channel: string,
    onNotify: (payload: string) => void,
    onListening: (isListening: boolean) => void,
  ): void
  close(): Promise<void>
}

export interface StoreOptions {
  readonly url: string
  /** Shown in pg_stat_activity, so that an operator can identify the connection. */
  readonly applicationName: string
  readonly poolSize: number
  /** Limits connecting, and each statement on the server, in milliseconds. */
  readonly timeoutMs: number
  /** Each connection switches to this role; by default it keeps the user of the URL. */
  readonly role?: string
  /** Is called for each statement or transaction that the store could not serve. */
  readonly failed?: (kind: StoreErrorKind) => void
  /** Is called once if the database is reached through a pooler that passes no notifications on. */
  readonly unnotified?: () => void
}

/**
 * Opens a pool. Connections are opened when they are first needed.
 *
 * @throws ConfigError when the URL, or a file that it names, is wrong.
 */
export function openStore(options: StoreOptions): Store {
  const database = readDatabase(options.url, options.timeoutMs)
  const limitMs = STATEMENT_LIMIT_FACTOR * options.timeoutMs
  const { sql, ofTenant } = openPool({
    size: options.poolSize,
    connect: () => connectSession(database, options),
    limitMs,
    database,
    failed: options.failed,
  })
  const listener = new Listener(database, driverOptions(options), options.unnotified)
  return {
    sql,
    ofTenant,
    listen: (channel, onNotify, onListening) => listener.listen(channel, { onNotify, onListening }),
    async close() {
      await Promise.all([listener.close(), sql.end({ timeout: CLOSE_SECONDS })])
    },
  }
}

/**
 * An unanswered statement is given up after this many statement timeouts: by then a live server has
 * cancelled it and said so.
 */
const STATEMENT_LIMIT_FACTOR = 2

/** How long closing waits for running statements. */
export const CLOSE_SECONDS = 5

const asText = (value: string): string => value

type Element = string | number | null

/** Text passes unchanged. */
const arrayAsText = (values: readonly Element[] | string): string =>
  typeof values === 'string' ? values : `{${values.map(elementAsText).join(',')}}`

function elementAsText(value: Element): string {
  return value === null ? 'NULL' : `"${String(value).replace(/["\\]/g, '\\$&')}"`
}

/**
 * Parsers and serializers by oid: int2[], int4[], float4[] and float8[]; then bytea[], text[], bpchar[],
 * varchar[] and uuid[].
 */
export const arrayTypes = {
  numbers: {
    to: 1007,
    from: [1005, 1007, 1021, 1022],
    serialize: arrayAsText,
    parse: (text: string) => parseArray(text, Number),
  },
  texts: {
    to: 1009,
    from: [1001, 1009, 1014, 1015, 2951],
    serialize: arrayAsText,
    parse: (text: string) => parseArray(text),
  },
}

/** From `2026-11-29 20:47:00.123456+00`: sessions have the time zone UTC. */
const timestampAsText = (text: string): string => text.replace(/ (\S+)/, 'T$1:00')

/**
 * Statements pass JSON as text with a `::jsonb` cast. Rows are read as `to_jsonb` writes them: timestamps as
 * text, and bigints, which are safe integers in our tables, as numbers.
 */
export const types = {
  ...arrayTypes,
  json: {
    to: 114,
    from: [114, 3802],
    serialize: asText,
    parse: (text: string) => JSON.parse(text),
  },
  integer: { to: 20, from: [20], serialize: String, parse: Number },
  date: { to: 1082, from: [1082, 1114], serialize: asText, parse: asText },
  timestamp: { to: 1184, from: [1184], serialize: asText, parse: timestampAsText },
}

/**
 * Planner settings of each connection. Memoize (caching rows that a join looks up) speeds up none
 * of our statements, and the planner's estimates were so close that plans changed as a table grew.
 * Parallel workers take the processors of payments, and each reads as many rows as a page has.
 */
export const planning = {
  enable_memoize: 'off',
  jit: 'off',
  max_parallel_workers_per_gather: 0,
}

function driverOptions(options: StoreOptions): DriverOptions {
  return { types, connection: { application_name: options.applicationName } }
}

function connectSession(database: Database, options: StoreOptions): Session {
  return new Session(database, driverOptions(options), {
    statement_timeout: options.timeoutMs,
    idle_in_transaction_session_timeout: options.timeoutMs,
    // The default may be off. Then a crash of the server loses keys that were acknowledged.
    synchronous_commit: 'on',
    ...planning,
    // The default of the log-in role may name all tenants. Each statement of the service names its own.
    ...(options.role === undefined ? {} : { role: options.role, [TENANTS_SETTING]: '' }),
  })
}
