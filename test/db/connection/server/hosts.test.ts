// Tests DATABASE_URL with several hosts, against a primary and a standby.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openStore } from '../../../../src/db/connection/client.ts'
import { connectDriver, readDatabase } from '../../../../src/db/connection/driver.ts'
import { migrateDatabase } from '../../../../src/migrations/migrate.ts'
import { openJobStore } from '../../../../src/db/queue/job-store.ts'
import { makeTemporaryFolder } from '../../../support/temporary-folder.ts'
import { startTlsServers, type TlsServers } from '../../../support/tls-servers.ts'
import { until } from '../../../support/until.ts'

/** No server listens on it: only root may. */
const DEAD = { port: 1 }

let servers: TlsServers
/** Accepts connections, and never answers. */
let silent: Server

beforeAll(async () => {
  servers = await startTlsServers(await makeTemporaryFolder())
  silent = createServer((socket) => socket.resume())
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
})
afterAll(async () => {
  silent.close()
  await servers.stop()
})

interface Port {
  readonly port: number
}

function urlOf(hosts: readonly Port[], parameters: string): string {
  const { password } = new URL(servers.primary.url('postgres'))
  const listed = hosts.map(({ port }) => `localhost:${port}`).join(',')
  return `postgres://postgres:${password}@${listed}/postgres?${parameters}`
}

const PORT = `select inet_server_port() as port`

async function byStore(url: string, statement = PORT): Promise<unknown> {
  const store = openStore({ url, applicationName: 'test', poolSize: 1, timeoutMs: 20_000 })
  try {
    const [row] = await store.sql.unsafe(statement)
    return row?.['port']
  } finally {
    await store.close()
  }
}

async function byJobStore(url: string): Promise<unknown> {
  const jobs = openJobStore({ url, applicationName: 'test', timeoutMs: 20_000 })
  try {
    const { rows } = await jobs.executeSql(PORT)
    return (rows[0] as Port).port
  } finally {
    await jobs.close()
  }
}

test.each<[string, string, (url: string) => Promise<unknown>]>([
  ['the store', '', byStore],
  ['the store', 'target_session_attrs=any', byStore],
  ['the store', 'target_session_attrs=read-write', byStore],
  ['the store', 'target_session_attrs=primary&sslmode=require', byStore],
  ['pg-boss', 'target_session_attrs=primary', byJobStore],
])('%s finds the primary in either order with "%s"', async (_, parameters, connect) => {
  const { primary, standby } = servers

  expect(await connect(urlOf([primary, standby], parameters))).toBe(primary.port)
  expect(await connect(urlOf([standby, primary], parameters))).toBe(primary.port)
})

test('a host that never answers does not delay the primary', async () => {
  const hosts = [silent.address() as AddressInfo, DEAD, servers.primary]
  const url = urlOf(hosts, 'target_session_attrs=primary')
  const beganMs = performance.now()

  expect(await byStore(url)).toBe(servers.primary.port)
  expect(performance.now() - beganMs).toBeLessThan(5_000)
})

test('reports that no host is the primary', async () => {
  const { standby } = servers
  const url = urlOf([standby, DEAD], 'target_session_attrs=read-write')

  const reasons = new RegExp(
    `^no host is the primary \\(localhost:${standby.port}: it is a standby; ` +
      'localhost:1: .*ECONNREFUSED.*\\)$',
  )
  await expect(byStore(url)).rejects.toMatchObject({
    code: 'NO_PRIMARY',
    message: expect.stringMatching(reasons) as unknown,
  })
})

test('reports that the only host cannot be reached', async () => {
  await expect(byStore(urlOf([DEAD], ''))).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

test('finds the primary again after a lost connection', async () => {
  const { primary, standby } = servers
  const url = urlOf([standby, DEAD, primary], 'target_session_attrs=primary')
  const store = openStore({ url, applicationName: 'test', poolSize: 2, timeoutMs: 20_000 })
  const ending = store.sql`select pg_terminate_backend(pg_backend_pid())`
  await expect(ending).rejects.toThrow()

  expect(await store.sql.unsafe(PORT)).toEqual([{ port: primary.port }])
  await store.close()
})

test('the migration finds the primary', async () => {
  const { primary, standby } = servers

  await migrateDatabase(urlOf([standby, primary], 'target_session_attrs=read-write'))
  const count = `select count(*)::int as port from drizzle.__drizzle_migrations`
  expect(await byStore(urlOf([primary], ''), count)).toBeGreaterThan(0)
})

test('closing ends a connection that is being opened', async () => {
  const accepted = once(silent, 'connection')
  const url = urlOf([silent.address() as AddressInfo], 'sslmode=require')
  const sql = connectDriver(readDatabase(url, 60_000))
  const refused = expect(sql`select 1`).rejects.toMatchObject({ code: 'CONNECTION_DESTROYED' })
  const [socket] = (await accepted) as [Socket]
  const ended = once(socket, 'close')

  await sql.end({ timeout: 0 })

  await refused
  await ended
})

// The last test: it ends the primary.
test('follows the primary to another host', async () => {
  const { primary, standby } = servers
  const url = urlOf([primary, standby], 'target_session_attrs=read-write')
  const store = openStore({ url, applicationName: 'test', poolSize: 2, timeoutMs: 20_000 })
  const promoter = openStore({
    url: standby.url('postgres'),
    applicationName: 'test',
    poolSize: 1,
    timeoutMs: 20_000,
  })
  const port = async () => (await store.sql.unsafe(PORT))[0]?.['port'] as unknown
  expect(await port()).toBe(primary.port)

  await primary.stop('immediate')
  await expect(port()).rejects.toThrow()
  await promoter.sql`select pg_promote()`

  expect(await until(() => port().catch(() => undefined))).toBe(standby.port)
  await Promise.all([store.close(), promoter.close()])
})
