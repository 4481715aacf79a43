// Tests that a store behind a real PgBouncer has sessions of its own, or executes nothing.
import { afterAll, afterEach, beforeAll, describe, expect } from '@jest/globals'
import { openStore, type Store, type StoreOptions } from '../../../../src/db/connection/client.ts'
import { SessionError } from '../../../../src/db/connection/pool/session.ts'
import { SERVICE_ROLE } from '../../../../src/config.ts'
import { openJobStore, type JobStore } from '../../../../src/db/queue/job-store.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import {
  startPgBouncer,
  type PgBouncer,
  type PgBouncerSettings,
} from '../../../support/pgbouncer.ts'
import { testBehindPgBouncer } from '../../../support/test-behind-pgbouncer.ts'
import { until } from '../../../support/until.ts'

let database: TestDatabase
let direct: Store
const opened: { close(): Promise<void> }[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  direct = open(database.url, { poolSize: 1, role: 'none' })
  opened.length = 0
})

afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close()
})

afterAll(async () => {
  await direct.close()
  await database.drop()
})

function open(url: string, own: Partial<StoreOptions> = {}): Store {
  const store = openStore({
    url,
    applicationName: 'test',
    poolSize: 3,
    timeoutMs: 4_000,
    role: SERVICE_ROLE,
    ...own,
  })
  opened.push(store)
  return store
}

function openJobs(url: string): JobStore {
  const jobs = openJobStore({
    url,
    applicationName: 'test',
    timeoutMs: 4_000,
    role: SERVICE_ROLE,
  })
  opened.push(jobs)
  return jobs
}

async function startPooler(settings: PgBouncerSettings): Promise<PgBouncer> {
  const pooler = await startPgBouncer(database.url, settings)
  opened.push({ close: () => pooler.stop() })
  return pooler
}

async function readSession({ sql }: Pick<Store, 'sql'>) {
  const [row] = await sql`
    select
      current_user as role, current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as transaction
  `
  return row
}

const OWN = { role: SERVICE_ROLE, statement: '4s', transaction: '4s' }

/** Executes many statements of different shapes at once; each returns its number. */
async function runMany({ sql }: Store, count: number): Promise<unknown[]> {
  const shapes: ((number: number) => Promise<{ number: number }[]>)[] = [
    (number) => sql<{ number: number }[]>`select ${number}::int as number, 'one' as shape`,
    (number) =>
      sql<{ number: number }[]>`select ${number}::int as number, pg_sleep(0.001)::text as slept`,
    (number) => sql<{ number: number }[]>`select ${number}::int as number`,
  ]
  const all = Array.from({ length: count }, async (_, number) => await shapes[number % 3]?.(number))
  const results = await Promise.allSettled(all)
  return results.map((result, number) =>
    result.status === 'rejected'
      ? (result.reason as Error).constructor
      : result.value?.[0]?.number === number,
  )
}

describe('in session mode', () => {
  testBehindPgBouncer('all sessions have the role and the timeouts of the store', async () => {
    const pooler = await startPooler({ pool_mode: 'session' })
    const store = open(pooler.url)

    expect(new Set(await runMany(store, 300))).toEqual(new Set([true]))
    const sessions = await Promise.all([1, 2, 3].map(() => readSession(store)))
    expect(sessions).toEqual([OWN, OWN, OWN])
  })

  testBehindPgBouncer('the session of a client is clean for the next one', async () => {
    const pooler = await startPooler({ pool_mode: 'session', default_pool_size: 2 })
    for (let client = 1; client <= 3; client += 1) {
      const store = open(pooler.url, { poolSize: 2 })
      expect(await readSession(store)).toEqual(OWN)
      await store.close()
    }
  })

  testBehindPgBouncer('the sessions of jobs have their role', async () => {
    const pooler = await startPooler({ pool_mode: 'session' })
    const jobs = openJobs(pooler.url)

    expect(await readSession(jobs)).toMatchObject({ role: SERVICE_ROLE })
    const script = 'begin; select 1; select current_user as role; commit'
    expect((await jobs.executeSql(script)).rows).toContainEqual({ role: SERVICE_ROLE })
  })

  testBehindPgBouncer('a session that is not reset for the next client is refused', async () => {
    const pooler = await startPooler({ pool_mode: 'session', server_reset_query: '' })
    const first = open(pooler.url)
    await readSession(first)
    await first.close()

    await expect(readSession(open(pooler.url))).rejects.toThrow('server_reset_query = DISCARD ALL')
  })
})

/** Without them PgBouncer 1.18 refuses the connection, or each client finds the same session. */
const SHARED: readonly [string, PgBouncerSettings][] = [
  ['in transaction mode', { pool_mode: 'transaction' }],
  ['in statement mode', { pool_mode: 'statement' }],
  [
    'that hands its sessions out in turns',
    { pool_mode: 'transaction', server_round_robin: 1, min_pool_size: 8 },
  ],
]

describe.each(SHARED)('a pooler %s', (_, settings) => {
  testBehindPgBouncer('executes no statement of the store', async () => {
    const pooler = await startPooler(settings)
    const store = open(pooler.url)
    const jobs = openJobs(pooler.url)

    expect(new Set(await runMany(store, 300))).toEqual(new Set([SessionError]))
    await expect(store.sql.begin((tx) => tx`select 1`)).rejects.toThrow(SessionError)
    await expect(store.sql.reserve()).rejects.toThrow(SessionError)
    await expect(jobs.executeSql('select 1')).rejects.toThrow(SessionError)
    await expect(jobs.executeSql('begin; select 1; commit')).rejects.toThrow(SessionError)
  })

  testBehindPgBouncer('is refused also when its sessions begin with the settings', async () => {
    const own = await createTestDatabase()
    const owner = open(own.url, { poolSize: 1, role: 'none' })
    const name = owner.sql(new URL(own.url).pathname.slice(1))
    await owner.sql`alter database ${name} set role = ${owner.sql(SERVICE_ROLE)}`
    for (const timeout of ['statement_timeout', 'idle_in_transaction_session_timeout']) {
      await owner.sql`alter database ${name} set ${owner.sql(timeout)} = 4000`
    }
    const pooler = await startPgBouncer(own.url, settings)

    const answers = await runMany(open(pooler.url), 30)

    await pooler.stop()
    await Promise.all(opened.splice(0).map((one) => one.close()))
    await own.drop()
    expect(new Set(answers)).toEqual(new Set([SessionError]))
  })
})

describe('a pooler whose mode changes', () => {
  testBehindPgBouncer('is refused with the next connection, and used again later', async () => {
    const pooler = await startPooler({ pool_mode: 'session' })
    const store = open(pooler.url)
    expect(new Set(await runMany(store, 30))).toEqual(new Set([true]))

    await pooler.reload({ pool_mode: 'transaction' })
    await untilAll(store, SessionError)
    await pooler.reload({ pool_mode: 'session' })
    await untilAll(store, true)
  })
})

/** Waits until all statements end like that, in new sessions. None gets the answer of another one. */
async function untilAll(store: Store, expected: unknown): Promise<void> {
  await until(async () => {
    await endSessions()
    const first = await runMany(store, 30)
    const second = await runMany(store, 30)
    expect([...first, ...second]).not.toContain(false)
    return second.every((result) => result === expected)
  })
}

/** Ends all sessions of the server, as a restart does. */
async function endSessions(): Promise<void> {
  await direct.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and backend_type = 'client backend'
  `
}
