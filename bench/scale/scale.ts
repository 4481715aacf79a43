// Runs `npm run bench -- --scale`: the same measurements with more and more payments in the tables,
// then with more workers. Neither plans nor latency may depend on the number of earlier payments.
import { statfs } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { showId } from '../../src/domain/resource-id.ts'
import { fingerprintRequest } from '../../src/domain/idempotency/idempotency-key.ts'
import { wireEncryption } from '../../src/wiring.ts'
import { startDatabase, type Measuring } from '../benchmark.ts'
import { judgePlans, readPlans, type JudgedPlan, type Plan, type SizedPlans } from '../plans.ts'
import type { Progress } from '../progress.ts'
import { UsageError } from '../options.ts'
import { publish, type Plot, type Table } from '../report.ts'
import { BYTES_PER_KEY, KEYS_PER_SECOND, seedAll } from '../seed.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { runConditions } from '../speed/conditions.ts'
import { PAYMENT, type CompletedKey } from '../speed/payment-requests.ts'
import type { Condition, Measurement, RoundParts, Row } from '../speed/rounds.ts'
import { roundPartsOf } from '../speed/service.ts'
import { subjectNamed, type SubjectName } from '../speed/subjects.ts'
import { countUnexpected, plotsOfRows, tableOfRows } from '../speed/summary.ts'
import { UNLIMITED, type BenchStack, type BenchTenant, type Services } from '../stack.ts'
import { FACTOR, judgeLatency, type JudgedFigure } from './judge-latency.ts'
import { maintenanceStatements } from './maintenance-statements.ts'
import { paymentStatements, settingsFor } from './statements.ts'

const DEPENDS_ON_SIZE = 1

const SIZES = [10_000, 100_000, 1_000_000, 10_000_000]

const MEASURED_SUBJECTS: readonly SubjectName[] = ['accept', 'pay_wait', 'replay', 'get']
const CONCURRENCIES = [1, 16]
const WORKERS = { numbers: 4, concurrency: 64 }
const OVERHEAD_SECONDS = 0.5

function sizesOf({ scaleMax }: BenchOptions): number[] {
  return SIZES.filter((size) => size <= scaleMax)
}

export async function announceScale(options: BenchOptions, progress: Progress): Promise<void> {
  const { folder, rounds, seconds } = options
  const sizes = sizesOf(options)
  const all = sizes.reduce((sum, size) => sum + size, 0)
  const room = await ensureRoom(folder, all * BYTES_PER_KEY)
  const each = MEASURED_SUBJECTS.length * CONCURRENCIES.length
  const runs = rounds * (sizes.length * each + WORKERS.numbers)
  const work = runs * (seconds + OVERHEAD_SECONDS) + (2 * all) / KEYS_PER_SECOND + 60
  progress.say(`${sizes.length} sizes: ${room}; about ${Math.ceil(work / 60)} minutes`)
}

/** The most that PostgreSQL keeps of its write-ahead log. */
const LOG_BYTES = 1.5e9

/**
 * Returns the needed and the free space as text: `about 4.00 GB in /var/tmp, of 40.00 GB free`.
 *
 * @throws UsageError when there is not enough space.
 */
async function ensureRoom(folder: string, databaseBytes: number): Promise<string> {
  const needed = databaseBytes + LOG_BYTES
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  if (free >= needed) return `about ${showGb(needed)} in ${folder}, of ${showGb(free)} free`
  throw new UsageError(
    `${folder} needs room for about ${showGb(needed)} and has ${showGb(free)}; choose another --folder`,
  )
}

const showGb = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`

export async function measureScale(measuring: Measuring): Promise<number> {
  const { options } = measuring
  const machine = await startDatabase(measuring)
  const sized: SizedService[] = []
  for (const size of sizesOf(options)) sized.push(await startSized(measuring, size))
  const { rounds, seconds } = options
  const others = (own: SizedService) =>
    sized.filter((one) => one !== own).flatMap(({ parts }) => parts.nodePids)
  const conditions = sized.map((one): Condition => ({
    name: show(one.size),
    parts: one.parts,
    within: (work) => withPaused(others(one), work),
  }))
  const measurements = MEASURED_SUBJECTS.flatMap((name) =>
    CONCURRENCIES.map((concurrency) => ({ subject: subjectNamed(name), concurrency, seconds })),
  )
  const rows = await runConditions(conditions, measurements, rounds)
  const largest = sized.at(-1)
  if (largest === undefined) throw new Error('there is no size')
  const workers = await withPaused(others(largest), () => measureWorkers(largest, options))
  const texts = sized.map(({ size, plans }): SizedPlans => ({ size, plans }))
  const [unexpected, plans] = [countUnexpected([...rows, ...workers]), judgePlans(texts)]
  const latency = judgeLatency(
    rows.flatMap((row) =>
      sized
        .filter(({ size }) => show(size) === row.condition)
        .map(({ size }) => ({ ...row, size })),
    ),
  )
  const at = new Date().toISOString()
  await publish(
    'scale',
    { at, options, machine, unexpected, latency, plans, workers, rows, plan_texts: texts },
    {
      title: 'Latency and plans by table size, throughput by workers',
      conditions: `${rounds} rounds of ${seconds} s each`,
      tables: [tableOfLatency(latency), tableOfPlans(plans), tableOfRows(workers)],
      plots: [...plotsOfLatency(latency), ...plotsOfRows(rows)],
    },
  )
  const isIndependent =
    latency.every(({ verdict }) => verdict === 'flat') &&
    plans.every((plan) => verdictOf(plan) === SAME)
  return isIndependent && unexpected === 0 ? 0 : DEPENDS_ON_SIZE
}

/**
 * Long enough for a worker to receive the jobs it is fetching, and for a resumed one to catch up.
 */
const CATCH_UP_MS = 200

/**
 * Runs the work while the processes are paused. They must have completed all earlier operations.
 */
async function withPaused<Result>(
  pids: readonly number[],
  work: () => Promise<Result>,
): Promise<Result> {
  await delay(CATCH_UP_MS)
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  try {
    return await work()
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
}

/** All workers run from the start, and the surplus is paused, so that their numbers are measured in turn. */
async function measureWorkers(
  { parts, services }: SizedService,
  { rounds, seconds }: BenchOptions,
): Promise<Row[]> {
  const pids = [services.worker.pid]
  while (pids.length < WORKERS.numbers) pids.push((await services.startWorker()).pid)
  const all = { ...parts, nodePids: [...parts.nodePids, ...pids.slice(1)] }
  const subject = subjectNamed('pay_wait')
  const measurement: Measurement = { subject, concurrency: WORKERS.concurrency, seconds }
  // Each measurement waits until all operations are completed, so a paused worker owns none.
  const conditions = pids.map((_, index): Condition => ({
    name: `${index + 1} workers`,
    parts: all,
    within: (work) => withPaused(pids.slice(index + 1), work),
  }))
  return await runConditions(conditions, [measurement], rounds)
}

/** A service with `size` payments in a separate database. */
interface SizedService {
  readonly size: number
  readonly plans: readonly Plan[]
  readonly services: Services
  readonly parts: RoundParts
}

async function startSized(measuring: Measuring, size: number): Promise<SizedService> {
  const { progress } = measuring
  const stack = await measuring.stack.createSibling(`payments_${size}`)
  const tenants = await stack.createTenants()
  const [tenant] = tenants
  if (tenant === undefined) throw new Error('there is no tenant')
  const progressed = progress.begin(`Seeding ${show(size)} payments`, size)
  await seedAll(stack.owner.sql, { keys: size, tenants }, progressed)
  const completed = await chooseCompleted(stack, tenant)
  progress.say(`Explaining the statements at ${show(size)} payments`)
  // Before a service changes what maintenance finds.
  const plans = await explainStatements(stack, tenant, completed)
  progress.say('Starting the service')
  const services = await stack.startServices(UNLIMITED)
  return {
    size,
    plans,
    services,
    parts: await roundPartsOf(measuring, stack, services, { tenant, completed }),
  }
}

const show = (size: number): string => size.toLocaleString('en')

const CHOSEN_KEYS = 500

/**
 * Chooses random keys, not the latest ones, which are in every cache. They get the fingerprint of
 * the load's request, so that they can be replayed.
 */
async function chooseCompleted(
  { owner: { sql } }: BenchStack,
  { id }: BenchTenant,
): Promise<CompletedKey[]> {
  const request = { method: 'POST', path: '/v1/payments', body: JSON.parse(PAYMENT) as unknown }
  const rows = await sql<{ key: string; payment_id: string }[]>`
    update idempotency_keys set fingerprint = ${fingerprintRequest(request)}
    where tenant_id = ${id} and id in (
      select id from idempotency_keys
      where tenant_id = ${id} and status = 'completed' and expires_at > now() + interval '1 hour'
      order by random()
      limit ${CHOSEN_KEYS}
    )
    returning key, payment_id
  `
  return rows.map((row) => ({ key: row.key, paymentId: showId('pay', row.payment_id) }))
}

async function explainStatements(
  { databaseUrl }: BenchStack,
  tenant: BenchTenant,
  [completed]: readonly CompletedKey[],
): Promise<Plan[]> {
  if (completed === undefined) throw new Error('there is no completed key')
  const settings = settingsFor(databaseUrl)
  wireEncryption(settings)
  return await readPlans(databaseUrl, [
    ...paymentStatements({ settings, tenant, completed }),
    ...maintenanceStatements(settings),
  ])
}

function tableOfLatency(latency: readonly JudgedFigure[]): Table {
  const sizes = latency[0]?.at.map(({ size }) => show(size)) ?? []
  return {
    heading: ['ms by payments in the tables', ...sizes, 'largest ÷ smallest', 'verdict'],
    rows: latency.map((one) => ({
      cells: [titleOf(one), ...one.at.map(({ ms }) => ms), one.ratio, one.verdict],
      mark: one.verdict === 'flat' ? 'reached' : 'missed',
    })),
    notes: [
      `GROWS: the median at the largest size is above ${FACTOR} x that at the smallest, and every round at`,
      'the largest size was slower than every round at the smallest.',
    ],
  }
}

function titleOf({ subject, concurrency, figure }: JudgedFigure): string {
  const [title = subject] = subjectNamed(subject).title.split(':')
  return `${title}, ${concurrency} clients: ${figure}`
}

const SAME = 'the same'

function verdictOf({ scanned, changesAt }: JudgedPlan): string {
  if (scanned.length > 0) return `SEQUENTIAL SCAN OF ${scanned.join(', ')}`
  return changesAt.length > 0 ? `CHANGES at ${changesAt.map(show).join(', ')}` : SAME
}

const tableOfPlans = (plans: readonly JudgedPlan[]): Table => ({
  heading: ['plans', 'at all sizes'],
  rows: plans.map((plan) => ({
    cells: [`${plan.of}: ${plan.statement}`, verdictOf(plan)],
    mark: verdictOf(plan) === SAME ? 'reached' : 'missed',
  })),
})

function plotsOfLatency(latency: readonly JudgedFigure[]): Plot[] {
  const groups = Map.groupBy(
    latency,
    ({ concurrency, figure }) => `${figure}, ${concurrency} clients`,
  )
  return [...groups].map(([title, figures]) => ({
    title,
    labels: figures[0]?.at.map(({ size }) => show(size)) ?? [],
    across: 'payments in the tables',
    up: 'ms',
    lines: figures.map(({ subject, at }) => ({ name: subject, values: at.map(({ ms }) => ms) })),
  }))
}
