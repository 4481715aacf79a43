// The connections to Postgres: a pool, and one for each channel that is listened to.
import { EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { parse as parseArray } from 'postgres-array'
import { openPool } from './pool.ts'

export type Sql = postgres.Sql
export type Transaction = postgres.TransactionSql
/** A part of a statement, to be put into another one. */
export type Fragment = postgres.Fragment

export interface Store {
  readonly sql: Sql
  /**
   * Listens to a channel over a connection of its own, which is made again when it is lost, until the
   * store is closed. `turned` is told when what is announced arrives from now on, and when that ends:
   * `sql.listen` keeps the latter to itself.
   */
  listen(channel: string, heard: () => void, turned: (isListening: boolean) => void): void
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

/** Opens a pool; connections are made when they are first needed. */
export function openStore(options: StoreOptions): Store {
  const limitMs = LATE_FACTOR * options.timeoutMs
  const sql = openPool(options.poolSize, () => connect(options), limitMs)
  const listeners: Sql[] = []
  return {
    sql,
    listen(channel, heard, turned) {
      const connection = new EventEmitter()
      const own = connect(options, {
        max_lifetime: null,
        onclose: () => connection.emit('lost'),
        onnotify: heard,
      })
      listeners.push(own)
      void keepListening(own, connection, channel, turned)
    },
    async close() {
      const ended = listeners.map((own) => own.end({ timeout: 0 }))
      await Promise.all([...ended, sql.end({ timeout: CLOSE_SECONDS })])
    },
  }
}

/** The server has ended a statement by then, and said so. */
const LATE_FACTOR = 2

/** For the statements that are under way. */
export const CLOSE_SECONDS = 5

/** The driver's types leave out what `sql.listen` itself uses, and an option. */
type DriverOptions = postgres.Options<Record<string, postgres.PostgresType>> & {
  readonly onnotify?: () => void
  readonly max_pipeline?: number
}

type ConnectionOptions = Pick<StoreOptions, 'url' | 'timeoutMs'>

/**
 * A client of one connection. What all have in common: how long connecting takes at most, how soon it is
 * tried again, and that statements are sent at once, behind those that are under way.
 */
export function connectDriver({ url, timeoutMs }: ConnectionOptions, own: DriverOptions): Sql {
  const options: DriverOptions = {
    connect_timeout: Math.ceil(timeoutMs / 1_000),
    backoff: (tries) => Math.min(0.05 * 2 ** tries, RECONNECT_DELAY_MAX_SECONDS),
    onnotice: () => {},
    max: 1,
    // It would ask for the types of arrays first, and when that fails end the process: nobody can catch it.
    fetch_types: false,
    // A transaction that begins where the limit is reached would not have the connection to itself
    // (https://github.com/porsager/postgres/issues/1189).
    max_pipeline: Number.MAX_SAFE_INTEGER,
    ...own,
  }
  return postgres(url, options)
}

const asText = (value: string): string => value

type Element = string | number | null

/** One that is text already is left as it is. */
const arrayAsText = (values: readonly Element[] | string): string =>
  typeof values === 'string' ? values : `{${values.map(elementAsText).join(',')}}`

function elementAsText(value: Element): string {
  return value === null ? 'NULL' : `"${String(value).replace(/["\\]/g, '\\$&')}"`
}

/** By the oids of int2[] and int4[], float4[] and float8[]; then of text[], bpchar[], varchar[] and uuid[]. */
export const arrayTypes = {
  numbers: {
    to: 1007,
    from: [1005, 1007, 1021, 1022],
    serialize: arrayAsText,
    parse: (text: string) => parseArray(text, Number),
  },
  texts: {
    to: 1009,
    from: [1009, 1014, 1015, 2951],
    serialize: arrayAsText,
    parse: (text: string) => parseArray(text),
  },
}

/** A statement hands JSON over as text with a `::jsonb` cast, and gets moments as the text they came as. */
export const types = {
  ...arrayTypes,
  json: {
    to: 114,
    from: [114, 3802],
    serialize: asText,
    parse: (text: string) => JSON.parse(text),
  },
  date: { to: 1184, from: [1082, 1114, 1184], serialize: asText, parse: asText },
}

/**
 * What a connection has the planner leave out: remembering rows that a join looks up, which pays for none of our
 * statements. Estimates decided on it by a hair, so that a plan changed as a table grew.
 */
export const planning = { enable_memoize: 'off' }

function connect(options: StoreOptions, own: DriverOptions = {}): Sql {
  return connectDriver(options, {
    types,
    connection: {
      application_name: options.applicationName,
      statement_timeout: options.timeoutMs,
      idle_in_transaction_session_timeout: options.timeoutMs,
      ...planning,
      ...(options.role === undefined ? {} : { role: options.role }),
    },
    ...own,
  })
}

const CONNECTION_ENDED = 'CONNECTION_ENDED'

/** Ends when the client is closed. */
async function keepListening(
  sql: Sql,
  connection: EventEmitter,
  channel: string,
  turned: (isListening: boolean) => void,
): Promise<void> {
  for (;;) {
    const lost = once(connection, 'lost')
    try {
      await sql`listen ${sql(channel)}`
    } catch (error) {
      if (codeOf(error) === CONNECTION_ENDED) return
      await delay(RECONNECT_DELAY_MAX_SECONDS * 1_000, undefined, { ref: false })
      continue
    }
    turned(true)
    await lost
    turned(false)
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
