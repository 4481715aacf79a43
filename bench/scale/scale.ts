// Runs `npm run bench -- --scale`: the same measurements with more and more payments in the tables,
// then with more workers. Neither plans nor latency may depend on the number of earlier payments.
import { showId } from '../../src/domain/resource-id.ts'
import { fingerprintRequest } from '../../src/domain/idempotency/fingerprint.ts'
import { wireEncryption } from '../../src/wiring.ts'
import { startDatabase, type Measuring } from '../benchmark.ts'
import { benchConfig } from '../engine.ts'
import { readPlans, type Plan } from '../plans.ts'
import type { Progress } from '../progress.ts'
import { ensureRoom } from '../room.ts'
import { BYTES_PER_KEY, KEYS_PER_SECOND, seedAll } from '../seed.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { PAYMENT, type CompletedKey } from '../speed/payment-requests.ts'
import { measure, runWarmUp, type Measurement, type RoundParts } from '../speed/rounds.ts'
import { subjects, type SubjectName } from '../speed/subjects.ts'
import { countUnexpected } from '../speed/summary.ts'
import { UNLIMITED, type BenchStack, type BenchTenant, type Services } from '../stack.ts'
import { judgeLatency, type SizedRow } from './judge-latency.ts'
import { judgePlans, type SizedPlans } from './judge-plans.ts'
import {
  isIndependentOfSize,
  showScaleReport,
  writeScaleReport,
  type ScaleReport,
} from './report.ts'
import { maintenanceStatements } from './maintenance-statements.ts'
import { withPaused } from './paused-processes.ts'
import { paymentStatements } from './statements.ts'
import { measureWorkers } from './workers.ts'

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

export async function measureScale(measuring: Measuring<BenchOptions>): Promise<number> {
  const { options } = measuring
  const machine = await startDatabase(measuring)
  const sized: SizedService[] = []
  for (const size of sizesOf(options)) sized.push(await startSized(measuring, size))
  const largest = sized.at(-1)
  if (largest === undefined) throw new Error('there is no size')
  const plans = sized.map((one): SizedPlans => ({ size: one.size, plans: one.plans }))
  const rows = await measureSizes(measuring, sized)
  const { parts, services } = largest
  const measurement = { ...measurementOf('pay_wait', options), concurrency: WORKERS.concurrency }
  const workers = await withPaused(othersThan(largest, sized), () =>
    measureWorkers(parts, services, measurement, options.rounds),
  )
  return await publish({
    at: new Date().toISOString(),
    options,
    machine,
    unexpected: countUnexpected([...rows, ...workers]),
    latency: judgeLatency(rows),
    plans: judgePlans(plans),
    workers,
    rows,
    plan_texts: plans,
  })
}

/** A service with `size` payments in a separate database. */
interface SizedService {
  readonly size: number
  readonly plans: readonly Plan[]
  readonly services: Services
  readonly parts: RoundParts
}

async function startSized(measuring: Measuring<BenchOptions>, size: number): Promise<SizedService> {
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
    parts: await partsOf(measuring, stack, services, tenant, completed),
  }
}

/** Measures the sizes in turn, so that a busy moment of the machine affects all of them. */
async function measureSizes(
  { options, progress }: Measuring<BenchOptions>,
  sized: readonly SizedService[],
): Promise<SizedRow[]> {
  const measurements = MEASURED_SUBJECTS.flatMap((name) =>
    CONCURRENCIES.map((concurrency) => ({ ...measurementOf(name, options), concurrency })),
  )
  const busy = measurements.filter(({ concurrency }) => concurrency > 1)
  for (const one of sized) {
    await withPaused(othersThan(one, sized), () => runWarmUp(one.parts, busy))
  }
  const count = options.rounds * measurements.length * sized.length
  const progressed = progress.begin('Measuring', count)
  const rows: SizedRow[] = []
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const measurement of measurements) {
      for (const one of rotated(sized, round)) {
        const measured = await withPaused(othersThan(one, sized), () =>
          measure(one.parts, measurement, round),
        )
        rows.push({ ...measured, size: one.size })
        progressed(rows.length)
      }
    }
  }
  return rows
}

/** Each round starts with a different item. */
function rotated<Item>(items: readonly Item[], round: number): Item[] {
  const first = round % items.length
  return [...items.slice(first), ...items.slice(0, first)]
}

function othersThan(one: SizedService, sized: readonly SizedService[]): number[] {
  return sized.filter((other) => other !== one).flatMap(({ parts }) => parts.nodePids)
}

const show = (size: number): string => size.toLocaleString('en')

function measurementOf(
  name: SubjectName,
  { seconds }: BenchOptions,
): Omit<Measurement, 'concurrency'> {
  const subject = subjects.find((one) => one.name === name)
  if (subject === undefined) throw new Error(`there is no subject ${name}`)
  return { subject, seconds }
}

async function partsOf(
  { progress, signal }: Measuring<BenchOptions>,
  stack: BenchStack,
  { apiUrl, providerUrl, api, worker }: Services,
  tenant: BenchTenant,
  completed: readonly CompletedKey[],
): Promise<RoundParts> {
  return {
    place: { apiUrl, providerUrl, tenant, completed, signal },
    owner: stack.owner.sql,
    nodePids: [api.pid, worker.pid],
    postgresPid: await stack.postgresPid(),
    workerPid: worker.pid,
    progress,
    signal,
  }
}

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
  const settings = benchConfig(databaseUrl)
  wireEncryption(settings)
  return await readPlans(databaseUrl, [
    ...paymentStatements({ settings, tenant, completed }),
    ...maintenanceStatements(settings),
  ])
}

async function publish(report: ScaleReport): Promise<number> {
  const { json, html } = await writeScaleReport(report)
  process.stdout.write(`\n${showScaleReport(report)}All measurements: ${json}\n${html}\n`)
  return isIndependentOfSize(report) ? 0 : DEPENDS_ON_SIZE
}
