// Measures the speed of the service, the limits that PostgreSQL and Express set, and optionally a
// peer.
import { randomBytes, randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '../../dev/ports.ts'
import { startChild } from '../child.ts'
import { startDatabase, type Measuring } from '../benchmark.ts'
import type { Progress } from '../progress.ts'
import { seedAll } from '../seed.ts'
import { UNLIMITED, type BenchStack, type BenchTenant, type Services } from '../stack.ts'
import type { BenchOptions } from './arguments.ts'
import type { LoopCommand, LoopReport } from './compared/closed-loop.ts'
import { payOnce, type CompletedKey } from './payment-requests.ts'
import { ratiosOf } from './ratios.ts'
import { showReport, writeReport } from './report.ts'
import { runRounds, runWarmUp, type Measurement, type RoundParts } from './rounds.ts'
import { countNon2xx, countUnexpected, type Report } from './summary.ts'
import { subjects, type Place, type SubjectName } from './subjects.ts'

const UNEXPECTED_ANSWERS = 1

export async function announceSpeed(options: BenchOptions, progress: Progress): Promise<void> {
  const { rounds } = options
  const seconds = measurementsOf(options).reduce(
    (sum, one) => sum + one.seconds + OVERHEAD_SECONDS,
    0,
  )
  progress.say(`${rounds} rounds: about ${Math.ceil((rounds * seconds + 30) / 60)} minutes`)
}

/** Time between measurements, to wait for the workers and to delete rows. */
const OVERHEAD_SECONDS = 0.5

export async function measureSpeed(measuring: Measuring<BenchOptions>): Promise<number> {
  const { stack, options, progress, signal } = measuring
  const machine = await startDatabase(measuring)
  const tenants = await stack.createTenants()
  const seeded = progress.begin('Seeding', options.payments)
  await seedAll(stack.owner.sql, { keys: options.payments, tenants }, seeded)
  progress.say('Starting the service and the servers to compare it with')
  const loops = await startLoops(stack)
  signal.addEventListener('abort', () => endAll(loops))
  try {
    const parts = await prepare(measuring, loops, tenants[0] as BenchTenant)
    // A single round compares nothing.
    if (options.rounds > 1) await warmUp(parts, options)
    const rows = await runRounds(parts, measurementsOf(options), options.rounds)
    return await publish({
      at: new Date().toISOString(),
      options,
      machine,
      ratios: ratiosOf(rows),
      unexpected: countUnexpected(rows),
      non_2xx: countNon2xx(rows),
      rows,
    })
  } finally {
    endAll(loops)
  }
}

type Loops = Required<Pick<Place, 'lean'>>

async function startLoops({ databaseUrl }: BenchStack): Promise<Loops> {
  const script = fileURLToPath(new URL('compared/lean-main.ts', import.meta.url))
  return { lean: await startChild<LoopCommand, LoopReport>(script, databaseUrl) }
}

function endAll({ lean }: Loops): void {
  lean.end()
}

async function prepare(
  { stack, options, progress, signal }: Measuring<BenchOptions>,
  loops: Loops,
  tenant: BenchTenant,
): Promise<RoundParts> {
  const services = await stack.startServices(UNLIMITED)
  const bare = await startServer(stack, 'bench/speed/compared/bare-main.ts', {
    DATABASE_URL: stack.databaseUrl,
  })
  const unkeyed = await startServer(stack, 'bench/speed/compared/unkeyed-main.ts', {
    ...UNLIMITED,
    DATABASE_URL: stack.databaseUrl,
    ENCRYPTION_KEYS: `bench:${randomBytes(32).toString('base64')}`,
  })
  const peer = options.peers ? await startPeer(stack, services) : undefined
  const place: Place = {
    apiUrl: services.apiUrl,
    bareUrl: bare.url,
    unkeyedUrl: unkeyed.url,
    providerUrl: services.providerUrl,
    dbosUrl: peer?.url,
    ...loops,
    tenant,
    completed: await makeCompletedKeys(services.apiUrl, tenant),
    signal,
  }
  return {
    place,
    owner: stack.owner.sql,
    nodePids: [services.api.pid, services.worker.pid, bare.pid, unkeyed.pid, loops.lean.pid],
    peerPids: peer === undefined ? [] : [peer.pid],
    postgresPid: await stack.postgresPid(),
    workerPid: services.worker.pid,
    progress,
    signal,
  }
}

async function startPeer(stack: BenchStack, { providerUrl }: Services) {
  return await startServer(stack, 'bench/speed/compared/dbos-main.ts', {
    DATABASE_URL: await stack.ensureDatabase('dbos'),
    PROVIDER_URL: providerUrl,
  })
}

async function startServer(stack: BenchStack, script: string, settings: Record<string, string>) {
  const port = await findFreePort()
  const { pid } = await stack.start(script, { ...settings, PORT: String(port) })
  return { pid, url: `http://127.0.0.1:${port}` }
}

const COMPLETED_KEYS = 200

async function makeCompletedKeys(apiUrl: string, tenant: BenchTenant): Promise<CompletedKey[]> {
  const completed: CompletedKey[] = []
  for (let number = 1; number <= COMPLETED_KEYS; number += 1) {
    completed.push(await payOnce(apiUrl, tenant, randomUUID()))
  }
  return completed
}

const WARM_UP_MAX_SECONDS = 1.5

/** Compiles code, plans statements and opens connections. */
async function warmUp(parts: RoundParts, options: BenchOptions): Promise<void> {
  const seconds = Math.min(options.seconds, WARM_UP_MAX_SECONDS)
  await runWarmUp(parts, measurementsOf({ ...options, concurrencies: [16], seconds }))
  await parts.owner`vacuum (analyze)`
  await parts.owner`checkpoint`
}

/** The only subjects that a quick run measures with one client, because ratios need them. */
const ALONE: readonly SubjectName[] = ['lean_payment', 'provider', 'pay_wait']

function measurementsOf({ peers, concurrencies, seconds }: BenchOptions): Measurement[] {
  const quick = !concurrencies.includes(64)
  const clientsOf = ({ name, clients }: Measurement['subject']) =>
    clients === undefined
      ? concurrencies.filter((count) => !quick || count > 1 || ALONE.includes(name))
      : [clients]
  return subjects
    .filter(({ name }) => peers || name !== 'dbos')
    .flatMap((subject) =>
      clientsOf(subject).map((concurrency) => ({ subject, concurrency, seconds })),
    )
}

async function publish(report: Report): Promise<number> {
  const { json, html } = await writeReport(report)
  process.stdout.write(`\n${showReport(report)}All measurements: ${json}\n${html}\n`)
  return report.unexpected === 0 ? 0 : UNEXPECTED_ANSWERS
}
