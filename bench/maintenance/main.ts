// `npm run bench:maintenance`: measures on a large database of its own what sweeper, outcome
// resolver and reaper cost, and what the API's clients notice of it. Its exit code says whether a
// statement reads too much.
import { fileURLToPath } from 'node:url'
import { insertTombstones } from '../../src/db/idempotency/key-expiry.ts'
import { startChild } from '../child.ts'
import { runBenchmark, type Measuring } from '../benchmark.ts'
import { HELP, readArguments, type BenchOptions } from './arguments.ts'
import { benchConfig, benchEngine } from '../engine.ts'
import { measureLatency, REAPED_PER_SECOND, type Latency } from './latency.ts'
import { choosePayments, type Target } from './load.ts'
import { readPlans, type Plan } from '../plans.ts'
import type { Progress } from '../progress.ts'
import type { ReaperCommand, ReaperReport } from './reaper-main.ts'
import { showCount, showPlans, showReport, writeReport, type Report } from './report.ts'
import { ensureRoom } from '../room.ts'
import { BYTES_PER_KEY, KEYS_PER_SECOND, seedAll } from '../seed.ts'
import { timed } from '../spread.ts'
import { UNLIMITED, type BenchStack, type BenchTenant } from '../stack.ts'
import { statementsOf } from './statements.ts'
import { timeTicks, type Times } from './ticks.ts'

const READS_TOO_MUCH = 1

const REAPER = fileURLToPath(new URL('reaper-main.ts', import.meta.url))

async function announce(
  { keys, folder, seconds, rounds }: BenchOptions,
  progress: Progress,
): Promise<void> {
  // The reaped keys are replaced between the rounds, and their payments stay.
  const refilled = rounds * seconds * REAPED_PER_SECOND
  const room = await ensureRoom(folder, (keys + refilled) * BYTES_PER_KEY)
  const minutes = Math.ceil(((keys + refilled) / KEYS_PER_SECOND + rounds * seconds * 2 + 60) / 60)
  progress.say(`${showCount(keys)} keys: ${room}, and about ${minutes} minutes`)
}

async function measure(measuring: Measuring<BenchOptions>): Promise<number> {
  const { stack, options, progress } = measuring
  progress.say('Starting PostgreSQL')
  await stack.startDatabase()
  const tenants = await stack.createTenants()
  const seedSeconds = await seed(measuring, tenants)
  const facts = await readFacts(stack)
  const { plans, ticks } = await measureStatements(stack, progress)
  progress.say('Starting mock provider, worker and API')
  const target: Target = {
    apiUrl: (await stack.startServices({ ...UNLIMITED, MAX_STORED_KEYS: '0' })).apiUrl,
    tenants,
    payments: await choosePayments(stack.owner.sql, tenants),
    rate: options.rate,
  }
  const latency = await measureService(measuring, target)
  const report = { options, seedSeconds, ...facts, plans, ticks, latency }
  await publish(report)
  return plans.some(({ wrongly }) => wrongly.length > 0) ? READS_TOO_MUCH : 0
}

async function seed(
  { stack, options: { keys }, progress }: Measuring<BenchOptions>,
  tenants: readonly BenchTenant[],
): Promise<number> {
  const { sql } = stack.owner
  const progressed = progress.begin('Seeding', keys)
  const { ms } = await timed(() => seedAll(sql, { keys, tenants }, progressed))
  return ms / 1_000
}

async function measureStatements(
  stack: BenchStack,
  shown: Progress,
): Promise<{ plans: Plan[]; ticks: Times[] }> {
  const config = benchConfig(stack.databaseUrl)
  const engine = await benchEngine(stack.databaseUrl)
  try {
    // So that the plans have something to delete.
    await insertTombstones(engine.store.sql, { limit: config.REAP_BATCH_SIZE })
    shown.say('Explaining the statements')
    const plans = await readPlans(stack.databaseUrl, statementsOf(config))
    shown.say('Timing ticks and batches')
    const owner = stack.owner.sql
    const ticks = await timeTicks({ engine, config, owner, expired: await countExpired(stack) })
    return { plans, ticks }
  } finally {
    await engine.store.close()
  }
}

async function measureService(
  { stack, options: { seconds, rounds }, progress, signal }: Measuring<BenchOptions>,
  target: Target,
): Promise<Latency> {
  const reaper = await startChild<ReaperCommand, ReaperReport>(REAPER, stack.databaseUrl)
  signal.addEventListener('abort', () => reaper.end())
  try {
    const owner = stack.owner.sql
    return await measureLatency({ owner, target, reaper, seconds, rounds, progress, signal })
  } finally {
    reaper.end()
  }
}

async function publish(report: Report): Promise<void> {
  const file = await writeReport(report)
  process.stdout.write(`\n${showPlans(report.plans)}${showReport(report)}`)
  process.stdout.write(`Everything that was measured: ${file}\n`)
}

async function readFacts({ owner: { sql } }: BenchStack) {
  const [row] = await sql<{ postgres: string; bytes: string }[]>`
    select
      current_setting('server_version') as postgres,
      pg_database_size(current_database())::text as bytes
  `
  return { postgres: row?.postgres ?? '', databaseBytes: Number(row?.bytes) }
}

async function countExpired({ owner: { sql } }: BenchStack): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from idempotency_keys
    where status = 'completed' and expires_at < now()
  `
  return row?.count ?? 0
}

await runBenchmark<BenchOptions>({
  name: 'bench:maintenance',
  help: HELP,
  read: readArguments,
  announce,
  measure,
})
