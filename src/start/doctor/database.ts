// Checks the database of a deployment: that it can be reached over sessions of the service's own, what
// it is like, and its clock.
import type { Config } from '../../config.ts'
import { openStore, type Sql, type Store } from '../../db/connection/client.ts'
import { parseDatabaseUrl, type DatabaseUrl } from '../../database-url.ts'
import { describeUnopened, readNeededKeys, type NeededKey } from '../../encryption/seals.ts'
import { DEVELOPMENT_ADVICE, readMigrationState } from '../../migrations/applied-migrations.ts'
import { readDatabaseFacts, databaseNeeds } from '../../migrations/database-facts.ts'
import { historySettings, type RetentionDays } from '../../retention-settings.ts'
import {
  judgeDatabase,
  failure,
  ok,
  warning,
  type Check,
} from '../../domain/deployment/database-checks.ts'

/** Times of the process are compared with times of the provider and of events. */
const CLOCK_WARNING_MS = 1_000
/** Half of what a webhook of the provider may be late: https://docs.stripe.com/webhooks#verify-manually */
const CLOCK_FAILURE_MS = 150_000

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '::1']

/** @param databaseUrl the setting, which is set. */
export async function checkDatabase(config: Config, databaseUrl: string): Promise<Check[]> {
  const url = parseDatabaseUrl(databaseUrl)
  const store = openStore({
    url: databaseUrl,
    applicationName: 'atomic-payments doctor',
    poolSize: 2,
    timeoutMs: config.STORE_TIMEOUT_MS,
    role: config.DATABASE_SERVICE_ROLE,
  })
  try {
    const { sql } = store
    const clock = await checkClock(store)
    const checks = [
      ok('sessions', 'their role, timeouts and settings are those of the service'),
      ...judgeDatabase(await readDatabaseFacts(sql), databaseNeeds(config)),
      judgeTls(url, clock.hasTls),
      clock.check,
    ]
    checks.push(await checkMigrations(store))
    if (checks.at(-1)?.verdict === 'failure') return checks
    checks.push(await checkRetention(sql, config))
    if (config.ENCRYPTION_KEYS === undefined) return checks
    return [...checks, judgeKeys(await readNeededKeys(sql, config.ENCRYPTION_KEYS))]
  } catch (error) {
    return [
      failure(
        'database',
        error instanceof Error ? error.message : String(error),
        'Check DATABASE_URL, and that the database was migrated: the migration creates the role.',
      ),
    ]
  } finally {
    await store.close()
  }
}

async function checkMigrations({ sql }: Store): Promise<Check> {
  const state = await readMigrationState(sql)
  if (state === 'current') return ok('migrations', state)
  return state === 'behind'
    ? failure('migrations', 'some are missing', 'Run npm run migrate as the owner.')
    : failure('migrations', 'those of a development version', DEVELOPMENT_ADVICE)
}

/** Less is deleted than a setting says where the owner has stored a longer time. 0 means for ever. */
export async function checkRetention(sql: Sql, days: RetentionDays): Promise<Check> {
  const name = 'retention'
  const rows = await sql<{ records: string; days: number }[]>`
    select records, days from retention_periods
  `
  const stored = new Map(rows.map((row) => [row.records, row.days]))
  const longer = Object.entries(historySettings).flatMap(([records, setting]) => {
    const [asked, kept] = [days[setting], stored.get(records) ?? 0]
    if (asked === 0 || (kept !== 0 && kept <= asked)) return []
    return kept === 0 ? `${setting}: for ever` : `${setting}: ${kept} days`
  })
  if (longer.length === 0) return ok(name, 'as the owner of the database has stored it')
  return warning(
    name,
    `the owner has stored longer times, which count: ${longer.join(', ')}`,
    'Run npm run migrate as the owner with the settings of the service.',
  )
}

function judgeKeys(needed: readonly NeededKey[]): Check {
  const found = describeUnopened(needed)
  if (found.length === 0) return ok('encryption keys', 'they open what is stored')
  const advice = 'Set the keys with which it was written, or see "A lost key" in docs/runbook.md.'
  return failure('encryption keys', found.join('; '), advice)
}

function judgeTls({ tls: { mode }, hosts }: DatabaseUrl, hasTls: boolean): Check {
  const name = 'TLS'
  const isLocal = hosts.every(({ host }) => LOCAL_HOSTS.includes(host) || host.startsWith('/'))
  if (isLocal) return ok(name, hasTls ? `sslmode=${mode}` : 'none, on this machine')
  if (hasTls && mode.startsWith('verify-')) return ok(name, `sslmode=${mode}`)
  return warning(
    name,
    hasTls ? `sslmode=${mode} verifies nothing` : 'the connection is not encrypted',
    'Set sslmode=verify-full and sslrootcert in DATABASE_URL.',
  )
}

async function checkClock({ sql }: Store): Promise<{ check: Check; hasTls: boolean }> {
  // The first statement opens the connection.
  await sql`select 1`
  const sentAtMs = Date.now()
  const [{ atMs, hasTls } = { atMs: Number.NaN, hasTls: false }] = await sql<
    { atMs: number; hasTls: boolean }[]
  >`
    select
      (extract(epoch from clock_timestamp()) * 1000)::float8 as "atMs",
      coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as "hasTls"
  `
  const receivedAtMs = Date.now()
  return { check: judgeClock(atMs - (sentAtMs + receivedAtMs) / 2), hasTls }
}

/** @param aheadMs how far the clock of the database is ahead of this machine's. */
export function judgeClock(aheadMs: number): Check {
  const name = 'clock'
  const apartMs = Math.abs(aheadMs)
  const found = `${Math.round(apartMs)} ms apart from the database's`
  if (apartMs < CLOCK_WARNING_MS) return ok(name, found)
  const advice = 'Synchronize the clocks of this machine and of the database with NTP.'
  return apartMs < CLOCK_FAILURE_MS ? warning(name, found, advice) : failure(name, found, advice)
}
