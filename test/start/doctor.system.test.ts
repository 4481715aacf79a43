// Tests `npm run doctor` as a process, and that API and worker refuse what it calls a failure.
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Check } from '../../src/domain/deployment/database-checks.ts'
import { judgeClock } from '../../src/start/doctor/database.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { startPgBouncer } from '../support/pgbouncer.ts'
import { testBehindPgBouncer } from '../support/test-behind-pgbouncer.ts'
import { startProvider, type RunningProvider } from '../dev/stripe-stand-in/running-provider.ts'
import { startScript } from '../support/start-script.ts'
import { openTestStore } from '../db/reservations.ts'
import type { Store } from '../../src/db/connection/client.ts'

const SECRET_KEY = 'sk_test_mock'

let database: TestDatabase
let provider: RunningProvider
let owner: Store
let admin: Store

beforeAll(async () => {
  database = await createTestDatabase()
  provider = await startProvider()
  owner = openTestStore(database.url, 1)
  admin = openTestStore(database.adminUrl, 1)
})
afterEach(async () => {
  await admin.sql.unsafe(`alter database ${name()} reset all`)
  await owner.sql`alter table payments force row level security`
})
afterAll(async () => {
  await Promise.all([owner.close(), admin.close()])
  await provider.close()
  await database.drop()
})

const name = () => new URL(database.url).pathname.slice(1)

const settings = (own: Record<string, string> = {}): Record<string, string> => ({
  DATABASE_URL: database.url,
  STRIPE_SECRET_KEY: SECRET_KEY,
  STRIPE_API_BASE: provider.url,
  STRIPE_WEBHOOK_SECRET: 'whsec_secret',
  ADMIN_API_KEY: 'alice=adm_alice_0123456789abcdef0123',
  ...own,
})

async function runDoctor(own?: Record<string, string>, args: readonly string[] = ['--json']) {
  const doctor = startScript('src/start/doctor.ts', { env: settings(own), args })
  const { code } = await doctor.exited
  return { code, text: doctor.lines.join('\n') }
}

/** What is no `ok`, by name. */
async function complaintsOf(own?: Record<string, string>) {
  const { code, text } = await runDoctor(own)
  const checks = JSON.parse(text) as Check[]
  const complaints = checks.filter(({ verdict }) => verdict !== 'ok')
  return { code, complaints: Object.fromEntries(complaints.map((check) => [check.name, check])) }
}

/** Starts API and worker, which are expected to refuse, and returns the last line of each. */
async function refusals(own: Record<string, string>): Promise<string[]> {
  const env = { ...settings(own), PORT: '0' }
  const processes = ['src/start/api.ts', 'workers/main.ts'].map((script) =>
    startScript(script, { env }),
  )
  const exits = await Promise.all(processes.map(({ exited }) => exited))
  expect(exits.map(({ code }) => code)).toEqual([1, 1])
  return processes.map(({ lines }) => lines.at(-1) ?? '')
}

test('a sound deployment has no failure, and no secret is shown', async () => {
  const { code, text } = await runDoctor()

  expect(code).toBe(0)
  const checks = JSON.parse(text) as Check[]
  expect(checks.filter(({ verdict }) => verdict !== 'ok').map((check) => check.name)).toEqual([
    // The cluster of the tests has fsync off, and no standby.
    'durability',
    'standbys',
  ])
  expect(checks.map((check) => check.name)).toEqual([
    'sessions',
    'PostgreSQL',
    'host',
    'role',
    'row-level security',
    'durability',
    'standbys',
    'writes',
    'connections',
    'TLS',
    'clock',
    'migrations',
    'retention',
    'encryption keys',
    'provider account',
    'time to the provider',
    'provider webhooks',
    'encryption',
    'operators',
  ])
  const { password } = new URL(database.url)
  for (const secret of [SECRET_KEY, 'whsec_secret', `:${password}@`]) {
    expect(text).not.toContain(secret)
  }
})

test('prints a line for each check, and what to do', async () => {
  const { text } = await runDoctor(undefined, [])

  expect(text).toMatch(/^ok {7}PostgreSQL {12}\d+\.\d/m)
  expect(text).toMatch(/^warning {2}standbys +none is connected\n +If the server is lost/m)
})

test('explains itself, and refuses an unknown option', async () => {
  const help = await runDoctor({}, ['--help'])
  expect([help.code, help.text.split('\n')[0]]).toEqual([0, 'Usage: npm run doctor -- [--json]'])

  expect((await runDoctor({}, ['--jsno'])).code).toBe(2)
})

describe('what breaks a guarantee is a failure, and ends the start', () => {
  test('a server that loses commits', async () => {
    const own = { DATABASE_MAY_LOSE_COMMITS: 'false' }

    const { code, complaints } = await complaintsOf(own)

    expect(code).toBe(1)
    expect(complaints['durability']).toMatchObject({ verdict: 'failure' })
    for (const line of await refusals(own)) expect(line).toContain('durability: fsync off')
  })

  test.each([
    ['default_transaction_read_only', 'on', 'transactions are read only'],
    ['session_replication_role', 'replica', 'which checks no foreign keys'],
  ])('%s = %s', async (setting, value, found) => {
    await admin.sql.unsafe(`alter database ${name()} set ${setting} = ${value}`)

    const { complaints } = await complaintsOf()
    expect(complaints['writes']).toMatchObject({ verdict: 'failure' })
    for (const line of await refusals({})) expect(line).toContain(found)
  })

  test('a table without forced row-level security', async () => {
    await owner.sql`alter table payments no force row level security`

    expect((await complaintsOf()).complaints['row-level security']).toMatchObject({
      verdict: 'failure',
      found: 'not enabled and forced for payments',
    })
    for (const line of await refusals({})) expect(line).toContain('payments')
  })
})

test('a retention that is shorter than what the owner has stored is a warning', async () => {
  const { code, complaints } = await complaintsOf({
    AUDIT_RETENTION_DAYS: '30',
    TIMELINE_RETENTION_DAYS: '170',
    DELIVERY_RETENTION_DAYS: '31',
  })

  expect(code).toBe(0)
  expect(complaints['retention']).toMatchObject({
    verdict: 'warning',
    found:
      'the owner has stored longer times, which count: TIMELINE_RETENTION_DAYS: 180 days, AUDIT_RETENTION_DAYS: for ever',
  })
})

testBehindPgBouncer('a pooler in statement mode is a failure', async () => {
  const pooler = await startPgBouncer(database.url, { pool_mode: 'statement' })

  const { code, complaints } = await complaintsOf({ DATABASE_URL: pooler.url })

  expect(code).toBe(1)
  expect(complaints['database']?.found).toContain('Use its transaction mode')
  await pooler.stop()
})

test.each<[string, Record<string, string>, string, string]>([
  [
    'a database that cannot be reached',
    { DATABASE_URL: 'postgres://127.0.0.1:1/x' },
    'database',
    'ECONNREFUSED',
  ],
  ['a provider that cannot be reached', { STRIPE_API_BASE: 'http://127.0.0.1:1' }, 'provider', ''],
  ['a wrong setting', { PROVIDER_TIMEOUT_MS: 'long' }, 'settings', 'PROVIDER_TIMEOUT_MS'],
  ['no database', { DATABASE_URL: '' }, 'database', 'DATABASE_URL is not set'],
  ['no secret key', { STRIPE_SECRET_KEY: '' }, 'provider', 'STRIPE_SECRET_KEY is not set'],
])('%s is a failure', async (_, own, check, found) => {
  const { code, complaints } = await complaintsOf(own)

  expect(code).toBe(1)
  expect(complaints[check]).toMatchObject({ verdict: 'failure' })
  expect(complaints[check]?.found).toContain(found)
})

test('missing settings are told', async () => {
  const own = { STRIPE_WEBHOOK_SECRET: '', ADMIN_API_KEY: '', ENCRYPTION_KEYS: '' }

  const { complaints } = await complaintsOf(own)

  expect(complaints['provider webhooks']).toMatchObject({ verdict: 'warning' })
  expect(complaints['operators']).toMatchObject({ verdict: 'warning' })
  expect(complaints['encryption']).toMatchObject({ verdict: 'failure' })
})

test.each([
  [0, 'ok'],
  [-999, 'ok'],
  [1_001, 'warning'],
  [-149_000, 'warning'],
  [151_000, 'failure'],
])('a clock that is %i ms ahead is judged: %s', (aheadMs, verdict) => {
  expect(judgeClock(aheadMs).verdict).toBe(verdict)
})
