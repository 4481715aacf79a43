// Tests that a store behind a real PgBouncer brings with each transaction what it needs, and leaves nothing.
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect } from '@jest/globals'
import { openStore, type Store, type StoreOptions } from '../../../../src/db/connection/client.ts'
import { SessionError } from '../../../../src/db/connection/pool/session.ts'
import { SERVICE_ROLE } from '../../../../src/config.ts'
import { EVERY_TENANT } from '../../../../src/db/connection/transaction.ts'
import { openJobStore, type JobStore } from '../../../../src/db/queue/job-store.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import {
  startPgBouncer,
  type PgBouncer,
  type PgBouncerSettings,
} from '../../../support/pgbouncer.ts'
import { testBehindPgBouncer } from '../../../support/test-behind-pgbouncer.ts'

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

function ignore(): void {}

/** Another client of the pooler finds nothing of the service in the sessions that it gets. */
async function expectNothingLeft(pooler: PgBouncer): Promise<void> {
  const other = postgres(pooler.url, { max: 8, prepare: false })
  // The default of the log-in role names all tenants.
  const left = await Promise.all(
    Array.from(
      { length: 20 },
      () => other`
        select current_user = session_user as "isItself",
          coalesce(current_setting('atomic.tenants', true), '') as tenants,
          current_setting('statement_timeout') as timeout,
          current_setting('search_path') as path,
          (select count(*)::int from pg_prepared_statements) as prepared
        from pg_sleep(0.01)
      `,
    ),
  )
  await other.end()
  expect(new Set(left.map(([row]) => JSON.stringify(row)))).toEqual(
    new Set([
      JSON.stringify({
        isItself: true,
        tenants: EVERY_TENANT,
        timeout: '0',
        path: '"$user", public',
        prepared: 0,
      }),
    ]),
  )
}

const POOLERS: readonly [string, PgBouncerSettings][] = [
  ['in session mode', { pool_mode: 'session' }],
  ['in session mode that resets no session', { pool_mode: 'session', server_reset_query: '' }],
  ['in transaction mode', { pool_mode: 'transaction' }],
  ['in transaction mode with few sessions', { pool_mode: 'transaction', default_pool_size: 2 }],
  [
    'that hands its sessions out in turns',
    { pool_mode: 'transaction', server_round_robin: 1, min_pool_size: 8 },
  ],
]

describe.each(POOLERS)('a pooler %s', (_, settings) => {
  testBehindPgBouncer('gives each transaction its role and its timeouts', async () => {
    const pooler = await startPooler(settings)
    const store = open(pooler.url)
    const jobs = openJobs(pooler.url)

    expect(new Set(await runMany(store, 100))).toEqual(new Set([true]))
    const seen = await Promise.all([1, 2, 3].map(() => readSession(store)))
    expect(seen).toEqual([OWN, OWN, OWN])
    expect(await readSession(jobs)).toMatchObject({ role: SERVICE_ROLE })
    const script = 'begin; select 1; select current_user as role; commit'
    expect((await jobs.executeSql(script)).rows).toContainEqual({ role: SERVICE_ROLE })
  })

  testBehindPgBouncer('mixes no answers up, and keeps nothing of a transaction', async () => {
    const pooler = await startPooler(settings)
    const stores = [open(pooler.url), open(pooler.url)]
    for (const store of stores) store.listen('news', ignore, ignore)

    const answers = await Promise.all(stores.map((store) => runMany(store, 200)))

    expect(new Set(answers.flat())).toEqual(new Set([true]))
    await Promise.all(stores.map((store) => store.close()))
    if (settings['server_reset_query'] !== '') await expectNothingLeft(pooler)
  })

  testBehindPgBouncer('rolls a transaction back that fails', async () => {
    const store = open((await startPooler(settings)).url)
    await direct.sql`create table if not exists marks (mark text)`
    await direct.sql`truncate marks`
    await direct.sql.unsafe(`grant all on marks to ${SERVICE_ROLE}`)

    const failing = store.sql.begin(async (tx) => {
      await tx`insert into marks values ('lost')`
      await tx`select 1 / 0`
    })

    await expect(failing).rejects.toThrow('division by zero')
    await store.sql.begin((tx) => tx`insert into marks values ('kept')`)
    expect(await direct.sql`select mark from marks`).toEqual([{ mark: 'kept' }])
  })
})

testBehindPgBouncer(
  'a pooler in statement mode is refused, because it begins no transaction',
  async () => {
    const pooler = await startPooler({ pool_mode: 'statement' })
    const store = open(pooler.url)

    expect(new Set(await runMany(store, 30))).toEqual(new Set([SessionError]))
    await expect(store.sql.begin((tx) => tx`select 1`)).rejects.toThrow('Use its transaction mode')
    await expect(openJobs(pooler.url).executeSql('select 1')).rejects.toThrow(SessionError)
  },
)

testBehindPgBouncer('a pooler may change its mode', async () => {
  const pooler = await startPooler({ pool_mode: 'session' })
  const store = open(pooler.url)
  expect(new Set(await runMany(store, 30))).toEqual(new Set([true]))

  for (const mode of ['transaction', 'session']) {
    await pooler.reload({ pool_mode: mode })
    expect(new Set(await runMany(store, 100))).toEqual(new Set([true]))
  }
})

testBehindPgBouncer.each([
  ['session', true],
  ['transaction', false],
])('in %s mode, notifications arrive or are known not to: %s', async (mode, arrives) => {
  const pooler = await startPooler({ pool_mode: mode })
  const { promise: result, resolve } = Promise.withResolvers<boolean>()
  const store = open(pooler.url, { unnotified: () => resolve(false) })

  store.listen(
    'news',
    () => resolve(true),
    (isListening) => {
      if (isListening) direct.sql`select pg_notify('news', '')`.catch(() => {})
    },
  )

  expect(await result).toBe(arrives)
})
