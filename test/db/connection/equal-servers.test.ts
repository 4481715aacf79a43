// Tests an address that leads to several servers that all write, as a balancer before nodes of Citus
// does: none of them replaces another one.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../../dev/embedded-postgres/postgres.ts'
import { openStore, type Store } from '../../../src/db/connection/client.ts'
import { startCuttableRelay, type CuttableRelay } from '../../support/cuttable-relay.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'

const SESSIONS = 4
const LIMIT_MS = 60_000

let servers: EmbeddedPostgres[]
let relay: CuttableRelay
let connections: number
let store: Store

function start(directory: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ directory, durable: false, log: () => {} })
}

/** Two servers that differ in nothing but the time of their start. */
beforeEach(async () => {
  const folder = await makeTemporaryFolder()
  const homes = ['first', 'second'].map((name) => join(folder, name)) as [string, string]
  await (await start(homes[0])).stop()
  await promisify(execFile)('cp', ['-a', ...homes])
  servers = await Promise.all(homes.map(start))
  connections = 0
  relay = await startCuttableRelay(() => {
    connections += 1
    return servers[connections % servers.length]?.port ?? 0
  })
  const url = new URL(servers[0]?.url('postgres') ?? '')
  url.port = String(relay.port)
  store = openStore({
    url: url.href,
    applicationName: 'atomic-payments test',
    poolSize: SESSIONS,
    timeoutMs: 5_000,
  })
}, LIMIT_MS)
afterEach(async () => {
  await store.close()
  await Promise.all([relay.close(), ...servers.map((server) => server.stop())])
})

/** The server and the process of each session. */
async function listSessions(): Promise<string[]> {
  const read = async () => {
    const rows = await store.sql<{ session: string }[]>`
      select current_setting('port') || ' ' || pg_backend_pid() as session from pg_sleep(0.1)
    `
    return rows.map(({ session }) => session)
  }
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, read))
  return sessions.flat().toSorted()
}

test(
  'keeps its sessions when the address leads to another server of the same rank',
  async () => {
    const before = await listSessions()
    expect(new Set(before.map((session) => session.split(' ')[0])).size).toBe(servers.length)
    const opened = connections

    // It looks for the primary every few seconds, over a connection of its own.
    await until(() => connections >= opened + 2)

    expect(await listSessions()).toEqual(before)
  },
  LIMIT_MS,
)
