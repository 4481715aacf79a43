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
const OPTIONS = { applicationName: 'atomic-payments test', poolSize: SESSIONS, timeoutMs: 5_000 }
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
  store = openStore({ ...OPTIONS, url: url.href })
}, LIMIT_MS)
afterEach(async () => {
  await store.close()
  await Promise.all([relay.close(), ...servers.map((server) => server.stop())])
})

/** A session that waits for longer than a second on a busy machine may be given up. */
async function useAllSessions(): Promise<true | undefined> {
  const use = () => store.sql`select pg_sleep(0.1)`
  const used = await Promise.allSettled(Array.from({ length: SESSIONS }, use))
  return used.every(({ status }) => status === 'fulfilled') || undefined
}

/** The processes of the sessions, for each server. */
async function listSessions(): Promise<number[][]> {
  const read = async (server: EmbeddedPostgres) => {
    const direct = openStore({ ...OPTIONS, url: server.url('postgres'), applicationName: 'direct' })
    const rows = await direct.sql<{ pid: number }[]>`
      select pid from pg_stat_activity
      where application_name = ${OPTIONS.applicationName} order by pid
    `
    await direct.close()
    return rows.map(({ pid }) => pid)
  }
  return await Promise.all(servers.map(read))
}

test(
  'keeps its sessions when the address leads to another server of the same rank',
  async () => {
    await until(useAllSessions)
    const before = await listSessions()
    expect(before.flat()).toHaveLength(SESSIONS)
    expect(before).not.toContainEqual([])
    const opened = connections

    // It looks for the primary every few seconds, over a connection of its own.
    await until(() => connections >= opened + 2)

    expect(await listSessions()).toEqual(before)
  },
  LIMIT_MS,
)
