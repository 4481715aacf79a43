// Runs `npm run bench -- --slow-clients`: the effect of a thousand slow clients on healthy ones.
// Each round measures with and without slow clients, so that a busy moment of the machine affects
// both.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startChild, type Child } from '../child.ts'
import { startDatabase, type Measuring } from '../benchmark.ts'
import type { Progress } from '../progress.ts'
import { seedAll } from '../seed.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { payOnce, type CompletedKey } from '../speed/payment-requests.ts'
import { measure, runWarmUp, type Measurement, type RoundParts } from '../speed/rounds.ts'
import { subjects, type SubjectName } from '../speed/subjects.ts'
import { countUnexpected } from '../speed/summary.ts'
import { UNLIMITED, type BenchTenant } from '../stack.ts'
import { compare, type SlowRow } from './compare.ts'
import { showSlowReport, writeSlowReport, type SlowReport } from './report.ts'
import type { SocketsCommand, SocketsReport } from './sockets-main.ts'

const UNEXPECTED_ANSWERS = 1

const SOCKETS = fileURLToPath(new URL('sockets-main.ts', import.meta.url))

const MEASURED_SUBJECTS: readonly SubjectName[] = ['accept', 'pay_wait', 'get']

/** Saturates two cores without long queues. */
const CLIENTS = 16

/**
 * Until the service has closed the first slow connections. From then on, closing and reopening is
 * steady.
 */
const SETTLE_MS = 3_000
const OVERHEAD_SECONDS = 0.5
const OPENING_SECONDS = 5

type Sockets = Child<SocketsCommand, SocketsReport>

export async function announceSlowClients(
  { rounds, seconds, sockets }: BenchOptions,
  progress: Progress,
): Promise<void> {
  const round = 2 * MEASURED_SUBJECTS.length * (seconds + OVERHEAD_SECONDS) + OPENING_SECONDS
  const minutes = Math.ceil((rounds * round + 60) / 60)
  progress.say(
    `${rounds} rounds without and with ${sockets} slow clients: about ${minutes} minutes`,
  )
}

export async function measureSlowClients(measuring: Measuring<BenchOptions>): Promise<number> {
  const { stack, options, progress, signal } = measuring
  const machine = await startDatabase(measuring)
  const [tenant, slowTenant, ...others] = await stack.createTenants()
  if (tenant === undefined || slowTenant === undefined)
    throw new Error('the stack needs two tenants')
  const seeded = progress.begin('Seeding', options.payments)
  await seedAll(
    stack.owner.sql,
    { keys: options.payments, tenants: [tenant, slowTenant, ...others] },
    seeded,
  )
  progress.say('Starting the service')
  const parts = await prepare(measuring, tenant)
  const sockets: Sockets = await startChild(SOCKETS, parts.place.apiUrl, slowTenant.apiKey)
  signal.addEventListener('abort', () => sockets.end())
  try {
    await runWarmUp(parts, measurementsOf(options))
    const { rows, ...connected } = await measureRounds(parts, sockets, options)
    const unexpected = countUnexpected(rows)
    const figures = compare(rows)
    const at = new Date().toISOString()
    return await publish({ at, options, machine, unexpected, ...connected, figures, rows })
  } finally {
    sockets.end()
  }
}

async function prepare(
  { stack, progress, signal }: Measuring<BenchOptions>,
  tenant: BenchTenant,
): Promise<RoundParts> {
  const { apiUrl, providerUrl, api, worker } = await stack.startServices(UNLIMITED)
  const completed: CompletedKey[] = []
  while (completed.length < COMPLETED_KEYS)
    completed.push(await payOnce(apiUrl, tenant, randomUUID()))
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

/** Payments that the load reads. */
const COMPLETED_KEYS = 200

function measurementsOf({ seconds }: BenchOptions): Measurement[] {
  return subjects
    .filter(({ name }) => MEASURED_SUBJECTS.includes(name))
    .map((subject) => ({ subject, concurrency: CLIENTS, seconds }))
}

/** The measurements, and how many slow clients were connected during them. */
interface Measurements {
  readonly rows: readonly SlowRow[]
  readonly held_mean: number
  readonly held_min: number
  readonly closed: number
}

/** Every second round starts with the slow clients. */
async function measureRounds(
  parts: RoundParts,
  sockets: Sockets,
  options: BenchOptions,
): Promise<Measurements> {
  const measurements = measurementsOf(options)
  const progressed = parts.progress.begin('Measuring', 2 * options.rounds * measurements.length)
  const rows: SlowRow[] = []
  const reports: SocketsReport[] = []
  for (let round = 1; round <= options.rounds; round += 1) {
    const order = round % 2 === 1 ? [0, options.sockets] : [options.sockets, 0]
    for (const slowClients of order) {
      await sockets.ask({ count: slowClients })
      await delay(SETTLE_MS)
      for (const measurement of measurements) {
        parts.signal.throwIfAborted()
        rows.push({ ...(await measure(parts, measurement, round)), slowClients })
        progressed(rows.length)
      }
      const report = await sockets.ask({ count: 0 })
      if (slowClients > 0) reports.push(report)
    }
  }
  return {
    rows,
    held_mean: Math.round(
      reports.reduce((sum, { connectedMean }) => sum + connectedMean, 0) / reports.length,
    ),
    held_min: Math.min(...reports.map(({ connectedMin }) => connectedMin)),
    closed: reports.reduce((sum, { closed }) => sum + closed, 0),
  }
}

async function publish(report: SlowReport): Promise<number> {
  const { json, html } = await writeSlowReport(report)
  process.stdout.write(`\n${showSlowReport(report)}All measurements: ${json}\n${html}\n`)
  return report.unexpected === 0 ? 0 : UNEXPECTED_ANSWERS
}
