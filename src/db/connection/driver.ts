// Makes the driver's clients, all from one reading of DATABASE_URL.
import { Socket } from 'node:net'
import postgres from 'postgres'
import { parseDatabaseUrl, type DatabaseUrl, type Host } from '../../database-url.ts'
import {
  createPrimarySearch,
  LatestPrimaries,
  readServer,
  type Primary,
  type Server,
} from './server/server.ts'
import { openSocket } from './server/server-socket.ts'

/** The driver's types omit `onnotify`, which `sql.listen` itself uses, and `max_pipeline`. */
export type DriverOptions = postgres.Options<Record<string, postgres.PostgresType>> & {
  readonly onnotify?: (channel: string, payload: string) => void
  readonly max_pipeline?: number
}

/** A database, and how to connect to it. */
export interface Database {
  readonly url: DatabaseUrl
  /** The host to connect to: the only one, or the primary. */
  readonly findHost: () => Promise<Host>
  /** Asks the hosts over connections of its own, also when there is only one. */
  readonly findPrimary: () => Promise<Primary>
  readonly latest: LatestPrimaries
  readonly connectTimeoutMs: number
}

/** A server that answers at all answers sooner. */
const CONNECT_TIMEOUT_MAX_MS = 10_000

/**
 * The longest delay between reconnection attempts: short, so that recovery after an outage is
 * prompt.
 */
export const RECONNECT_DELAY_MAX_SECONDS = 0.5

/**
 * Reads the URL and the files that it names.
 *
 * @param timeoutMs limits connecting, unless the URL has a `connect_timeout`.
 * @throws ConfigError when one of them is wrong.
 */
export function readDatabase(text: string, timeoutMs: number): Database {
  const url = parseDatabaseUrl(text)
  const connectTimeoutMs = url.connectTimeoutMs ?? Math.min(timeoutMs, CONNECT_TIMEOUT_MAX_MS)
  const latest = new LatestPrimaries()
  const findHost = async () => url.hosts[0]
  const findPrimary = createPrimarySearch(url.hosts, (...asked) => ask(base, ...asked), latest)
  const base = { url, connectTimeoutMs, latest, findHost, findPrimary }
  return url.onlyPrimary ? { ...base, findHost: async () => (await findPrimary()).host } : base
}

async function ask(database: Database, host: Host, settled: AbortSignal): Promise<Server> {
  const url = { ...database.url, onlyPrimary: false }
  const connection = { application_name: 'atomic-payments primary search' }
  const sql = connectDriver(
    { ...database, url, findHost: async () => host },
    { ...UNPREPARED, connection },
  )
  const end = () => void sql.end({ timeout: 0 })
  // A server that stops answering after the log-in would be waited for.
  const limit = setTimeout(end, database.connectTimeoutMs)
  settled.addEventListener('abort', end)
  try {
    return await readServer(sql)
  } finally {
    clearTimeout(limit)
    end()
  }
}

/** @throws the reason why the host cannot be used. */
export async function openDatabaseSocket(
  { url: { tls }, findHost, connectTimeoutMs: timeoutMs }: Database,
  closing: AbortSignal,
): Promise<Socket> {
  return await openSocket(await findHost(), { tls, timeoutMs, closing })
}

/** For a connection that may lead through a pooler: its session is then another client's later. */
export const UNPREPARED = { prepare: false } as const

/**
 * Makes a client with one connection. All connections share the connect timeout, the reconnection
 * delays and pipelining: a statement is sent at once, behind those that are running.
 *
 * @param opened is called with the socket of each connection.
 */
export function connectDriver(
  database: Database,
  settings: DriverOptions = {},
  opened: (socket: Socket) => void = () => {},
): postgres.Sql {
  const { url, connectTimeoutMs } = database
  const closing = new AbortController()
  const [first] = url.hosts
  const options: DriverOptions = {
    // Only for messages and for the driver's own defaults: the sockets are ours.
    host: first.host,
    port: first.port,
    ...(url.user !== undefined && { user: url.user }),
    ...(url.password !== undefined && { password: url.password }),
    ...(url.database !== undefined && { database: url.database }),
    ssl: false,
    // Checked again after the log-in: the primary may have changed since it was found.
    ...(url.onlyPrimary && { target_session_attrs: 'primary' }),
    connect_timeout: Math.ceil(connectTimeoutMs / 1_000),
    backoff: (tries) => Math.min(0.05 * 2 ** tries, RECONNECT_DELAY_MAX_SECONDS),
    onnotice: () => {},
    max: 1,
    // With `true` the driver first queries the array types. When that query fails, the error cannot
    // be caught and ends the process.
    fetch_types: false,
    // A transaction that begins at the limit would share the connection with other statements
    // (https://github.com/porsager/postgres/issues/1189).
    max_pipeline: Number.MAX_SAFE_INTEGER,
    ...settings,
    connection: { ...settings.connection, ...(url.options && { options: url.options }) },
    ...socketOption(async () => {
      const socket = await openDatabaseSocket(database, closing.signal)
      opened(socket)
      return socket
    }),
  }
  const sql = postgres(options)
  const end = sql.end.bind(sql)
  return Object.assign(sql, {
    async end(limit?: { timeout?: number }) {
      await end(limit)
      // The driver forgets a connection that is still being opened.
      closing.abort()
    },
  })
}

/**
 * The driver's types omit `socket`. After a function that throws, the driver would never connect
 * again. It copes with a socket that fails at the first write. If the socket failed before it, the
 * driver would keep what it wanted to write, and send it over the next connection.
 */
function socketOption(open: () => Promise<Socket>): object {
  const socket = () =>
    open().catch((error: Error) => {
      const failing = new Socket()
      const write = () => {
        failing.destroy(error)
        return true
      }
      return Object.assign(failing, { write })
    })
  return { socket }
}
