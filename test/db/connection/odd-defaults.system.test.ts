// Tests that a database may have any default for a setting that a user can change: migrations, API
// and worker give the same answers. The settings are those that the server lists.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Store } from '../../../src/db/connection/client.ts'
import { migrateDatabase } from '../../../src/migrations/migrate.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../support/database.ts'
import {
  get,
  paymentBody,
  post,
  postPayment,
  read,
  type ApiResponse,
} from '../../support/client.ts'
import { findProgram } from '../../support/find-program.ts'
import { startPgBouncer } from '../../support/pgbouncer.ts'
import { startService, type OwnService, type Tenant } from '../../support/service.ts'
import { testBehindPgBouncer } from '../../support/test-behind-pgbouncer.ts'
import { until } from '../../support/until.ts'
import { openTestStore } from '../reservations.ts'

const IDLE_MS = 6_000

const OPERATOR = 'adm_alice_0123456789abcdef0123'

interface Setting {
  readonly name: string
  readonly type: 'bool' | 'enum' | 'integer' | 'real' | 'string'
  readonly values: readonly string[] | null
  readonly min: string | null
  readonly max: string | null
  readonly initial: string | null
}

/** Settings without a default for a database, and those that stop a server or its log-ins. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  transaction_isolation: 'belongs to one transaction',
  transaction_read_only: 'belongs to one transaction',
  transaction_deferrable: 'belongs to one transaction',
  default_transaction_read_only: 'stops all writes, and is refused: doctor.test.ts',
  session_replication_role: 'is refused: doctor.test.ts',
  local_preload_libraries: 'ends each log-in when it names no library',
  session_preload_libraries: 'ends each log-in when it names no library',
  log_min_messages: 'fills the log',
  temp_file_limit: 'a limit, like a full disk',
}

/** For settings that are texts, and where a bound of a number would stop everything. */
const ODD: Readonly<Record<string, readonly string[]>> = {
  DateStyle: ['German, DMY', 'SQL, YMD', 'Postgres, MDY'],
  TimeZone: ['Asia/Kathmandu', 'America/St_Johns', '-13:37'],
  timezone_abbreviations: ['Australia', 'India', 'Australia'],
  search_path: ['elsewhere', 'elsewhere, public', 'public, pg_catalog'],
  client_encoding: ['LATIN1', 'SQL_ASCII', 'SJIS'],
  client_min_messages: ['error', 'debug1', 'error'],
  default_text_search_config: ['pg_catalog.german'],
  application_name: ['odd'],
  restrict_nonsystem_relation_kind: ['view, foreign-table'],
  createrole_self_grant: ['', 'set, inherit', ''],
  'plpgsql.extra_errors': ['all'],
  'plpgsql.extra_warnings': ['all'],
  temp_tablespaces: ['nowhere'],
  default_tablespace: [''],
  // A busy machine may need seconds from the log-in to the first statement.
  statement_timeout: ['10000'],
  idle_session_timeout: [`${IDLE_MS}`],
  idle_in_transaction_session_timeout: [`${IDLE_MS}`],
  transaction_timeout: ['10000'],
  lock_timeout: ['1'],
  commit_delay: ['1000'],
  max_stack_depth: ['100', '6000'],
}

const REAL_MAX = 1_000_000

function oddValue({ name, type, values, min, max, initial }: Setting, round: number) {
  const own = ODD[name]
  if (own !== undefined) return own[round % own.length]
  if (type === 'bool') return initial === 'on' ? 'off' : 'on'
  if (type === 'enum') {
    const others = (values ?? []).filter((value) => value !== initial)
    return others[round % Math.max(others.length, 1)]
  }
  if (type === 'string') return undefined
  const bound = round % 2 === 0 ? min : max
  return type === 'real' ? String(Math.min(Number(bound), REAL_MAX)) : (bound ?? undefined)
}

let migrated: TestDatabase
let admin: Store
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  migrated = await createTestDatabase()
  admin = openTestStore(migrated.adminUrl, 1)
})
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop()
  await admin.close()
  await migrated.drop()
})

async function userSettings(): Promise<readonly Setting[]> {
  return await admin.sql.begin(async (tx) => {
    // Its settings are listed once it is loaded.
    await tx.unsafe('do $$ begin end $$')
    return await tx<Setting[]>`
      select
        name, vartype as type, enumvals as values, min_val as min, max_val as max, boot_val as initial
      from pg_settings
      where context in ('user', 'superuser') and category not like 'Developer%'
        and name not like 'atomic.%'
      order by name
    `
  })
}

/** An empty database of the owner of all test databases, whose settings are odd. */
async function createOddDatabase(round: number): Promise<string> {
  const empty = await createEmptyDatabase()
  stops.push(() => empty.drop())
  const name = new URL(empty.url).pathname.slice(1)
  for (const setting of await userSettings()) {
    const value = setting.name in LEFT_OUT ? undefined : oddValue(setting, round)
    if (value === undefined) continue
    await admin.sql.unsafe(`alter database ${name} set ${setting.name} to ${literals(value)}`)
  }
  return empty.url
}

/** A list of names is no single name. */
const literals = (value: string) =>
  value
    .split(', ')
    .map((part) => `'${part}'`)
    .join(', ')

async function sessionPids(url: string): Promise<number[]> {
  const database = new URL(url).pathname.slice(1)
  const rows = await admin.sql<{ pid: number }[]>`
    select pid from pg_stat_activity
    where datname = ${database} and application_name ~ '^atomic-payments (api|worker)' order by pid
  `
  return rows.map(({ pid }) => pid)
}

/** Tries again while a busy machine exceeds a time limit, as a client does. */
async function pay(service: OwnService, tenant: Tenant, body: object, key: string = randomUUID()) {
  return await until(async () => {
    const answer = await postPayment(service.apiUrl, tenant, body, { key })
    return [201, 402].includes(answer.status) && answer
  })
}

/** What a client, an operator and a receiver of webhooks see, without ids and times. */
async function useService(service: OwnService, tenant: Tenant): Promise<object> {
  const key = randomUUID()
  const body = paymentBody({
    description: 'zwölf \\ "Bücher" 本',
    metadata: { path: 'C:\\new\\', empty: '' },
    reference: `odd-${key}`,
  })
  const others = await Promise.all([1, 2, 3].map(() => pay(service, tenant, paymentBody())))
  const paid = await pay(service, tenant, body, key)
  const replayed = await postPayment(service.apiUrl, tenant, body, { key })
  const id = String(paid.json['id'])
  const declined = await pay(
    service,
    tenant,
    paymentBody({ payment_method: 'pm_card_chargeDeclined' }),
  )
  const refunded = await post(service.apiUrl, tenant, `/v1/payments/${id}/refunds`, { amount: 500 })
  const shown = (path: string) => get(service.apiUrl, tenant, path)
  const operator = async (path: string) =>
    await read(
      await fetch(`${service.apiUrl}${path}`, { headers: { authorization: `Bearer ${OPERATOR}` } }),
    )
  const payment = await shown(`/v1/payments/${id}`)
  const lists = await Promise.all([
    // Those behind them are of the three payments that were made together, in any order.
    shown('/v1/events?limit=6'),
    shown('/v1/ledger/balances'),
    shown('/v1/ledger/transactions'),
    shown('/v1/payments'),
  ])
  // It tells the number of tries, which may differ.
  expect((await operator(`/admin/payments/${id}`)).status).toBe(200)
  expect((await shown(`/v1/payments/${id}/timeline`)).status).toBe(200)
  const seconds = Date.parse(String(payment.json['created_at'])) / 1_000
  expect(Math.abs(seconds - Date.now() / 1_000)).toBeLessThan(60)
  const all = [...others, paid, declined, refunded, payment, ...lists]
  return { isReplay: replayed.text === paid.text, answers: all.map(withoutIds) }
}

function withoutIds({ status, text }: ApiResponse): string {
  const known = text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'time')
    .replaceAll(/\b[a-z]+_[\dA-Za-z]{24,}\b|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'id')
    .replaceAll(/(_seconds":)[\d.]+/g, '$1 0')
  return `${status} ${known}`
}

let last: Promise<unknown> = Promise.resolve()

/** Uses one service after the other. The next one is used while those before it are idle. */
async function exercise(
  databaseUrl: () => Promise<string>,
  { hasOwnSessions = true } = {},
): Promise<object> {
  const started = last.then(async () => {
    const url = await databaseUrl()
    await migrateDatabase(url)
    // A busy machine can take five seconds for a statement.
    const settings = { ADMIN_API_KEY: `alice=${OPERATOR}`, STORE_TIMEOUT_MS: '30000' }
    return await startService(settings, url)
  })
  const used = started.then(async (own) => await useService(own, await own.createTenant()))
  last = used.catch(() => {})
  const service = await started
  try {
    const seen = await used
    if (hasOwnSessions) await expectIdleSessionsStay(service)
    for (const part of [service.api, service.worker]) {
      expect(part.lines.filter((line) => /"level":(50|60)/.test(line))).toEqual([])
    }
    return seen
  } finally {
    await service.stop()
  }
}

async function expectIdleSessionsStay(service: OwnService): Promise<void> {
  const url = service.databaseUrl
  expect((await fetch(`${service.apiUrl}/readyz`)).status).toBe(200)
  const pids = await sessionPids(url)
  await delay(IDLE_MS + 1_000)
  // None ended while it was idle.
  expect(await sessionPids(url)).toEqual(expect.arrayContaining(pids))
}

/** The last round is behind the pooler. */
const ROUNDS = [0, 1]

let plain: Promise<object>
let odd: Promise<object>[]
let pooled: Promise<object> | undefined

beforeAll(() => {
  plain = exercise(async () => migrated.url)
  odd = ROUNDS.map((round) => exercise(() => createOddDatabase(round)))
  if (findProgram('pgbouncer') !== undefined) {
    const throughPooler = async () => {
      const pooler = await startPgBouncer(await createOddDatabase(ROUNDS.length), {
        pool_mode: 'transaction',
      })
      stops.push(() => pooler.stop())
      return pooler.url
    }
    pooled = exercise(throughPooler, { hasOwnSessions: false })
  }
  // Its test fails.
  for (const result of [plain, ...odd, pooled]) result?.catch(() => {})
})

test.each(ROUNDS)('odd defaults of a database change no answer (%i)', async (round) => {
  expect(await odd[round]).toEqual(await plain)
})

testBehindPgBouncer('a pooler in transaction mode changes nothing about it', async () => {
  expect(await pooled).toEqual(await plain)
})
