// Relays the connections of another driver, which reads only some of the parameters of DATABASE_URL,
// over the sockets that our own connections use. It listens on a Unix socket in a folder that only
// this user may enter, because a connection may show the client's certificate.
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import {
  FIXED_SETTINGS,
  type SessionSettings,
} from '../../src/db/connection/pool/session-settings.ts'
import { openDatabaseSocket, readDatabase, type Database } from '../../src/db/connection/driver.ts'

export interface Relay {
  /** The database through the relay, for a driver that knows the parameters `host` and `options`. */
  readonly url: string
  close(): Promise<void>
}

interface RelayOptions {
  readonly url: string
  readonly role: string
  readonly timeoutMs: number
  /** Is called for each connection that could not be opened. */
  readonly failed: (error: Error) => void
}

/** Only a part of the name of the socket. */
const PORT = 5432

/** @throws ConfigError when the URL, or a file that it names, is wrong. */
export async function openRelay({ url, role, timeoutMs, failed }: RelayOptions): Promise<Relay> {
  const database = readDatabase(url, timeoutMs)
  const closing = new AbortController()
  const clients = new Set<Socket>()
  const server = createServer((client) => {
    clients.add(client.once('close', () => clients.delete(client)).on('error', () => {}))
    openDatabaseSocket(database, closing.signal).then(
      (socket) => void pipeline(client, socket, client).catch(() => {}),
      (error: Error) => {
        client.destroy()
        if (!closing.signal.aborted) failed(error)
      },
    )
  })
  const folder = await mkdtemp(join(tmpdir(), 'atomic-payments-relay-'))
  server.listen(join(folder, `.s.PGSQL.${PORT}`))
  await once(server, 'listening')
  return {
    url: urlThrough(folder, database, role),
    async close() {
      closing.abort()
      server.close()
      for (const client of clients) client.destroy()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-OPTIONS */
function urlThrough(folder: string, { url }: Database, role: string): string {
  const { user, password, database = '', options = '' } = url
  // A server that does not know an option refuses the connection: PostgreSQL 15 and 16 this one.
  const { transaction_timeout: _, ...known } = FIXED_SETTINGS
  const all: SessionSettings = { ...known, role }
  const fixed = Object.entries(all).map(
    ([name, value]) => `-c ${name}=${String(value).replace(/[\\ ]/g, '\\$&')}`,
  )
  const parameters = {
    host: folder,
    port: String(PORT),
    sslmode: 'disable',
    options: [options, ...fixed].join(' ').trim(),
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
  }
  const query = new URLSearchParams(parameters).toString().replaceAll('+', '%20')
  return `postgres:///${encodeURIComponent(database)}?${query}`
}
