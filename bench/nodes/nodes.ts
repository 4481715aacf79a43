// Runs `npm run bench -- --nodes`: the same load on one, two and four API and worker processes each.
// All of them share one machine, so the table shows what more processes cost, and what limits them.
import { setTimeout as delay } from 'node:timers/promises'
import { startDatabase, type Measuring } from '../benchmark.ts'
import { cpuMsOf, readMachineBusy } from '../cpu.ts'
import type { Progress } from '../progress.ts'
import { anyOf } from '../requests.ts'
import { seedAll } from '../seed.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { runLoad } from '../speed/load.ts'
import { payAndWait } from '../speed/payment-requests.ts'
import { spreadOf } from '../spread.ts'
import { UNLIMITED, type BenchStack, type BenchTenant, type Services } from '../stack.ts'
import { countConnections, type NodesRow } from './figures.ts'
import { showNodesReport, writeNodesReport } from './report.ts'

/** How many API processes, and as many workers. */
const SIZES = [1, 2, 4]
/** Keeps two cores busy. */
const CLIENTS = 64
const WARM_UP_SECONDS = 2
/** To start and to end the processes. */
const OVERHEAD_SECONDS = 8
const UNEXPECTED_ANSWERS = 1

export async function announceNodes(options: BenchOptions, progress: Progress): Promise<void> {
  const { rounds, seconds } = options
  const each = WARM_UP_SECONDS + seconds + OVERHEAD_SECONDS
  const minutes = Math.ceil((rounds * SIZES.length * each + 30) / 60)
  progress.say(`${rounds} rounds with ${SIZES.join(', ')} processes each: about ${minutes} minutes`)
}

export async function measureNodes(measuring: Measuring<BenchOptions>): Promise<number> {
  const { stack, options, progress } = measuring
  const machine = await startDatabase(measuring)
  const tenants = await stack.createTenants()
  const seeded = progress.begin('Seeding', options.payments)
  await seedAll(stack.owner.sql, { keys: options.payments, tenants }, seeded)
  progress.say('Starting the service')
  const services = await stack.startServices(UNLIMITED)
  const rows = await measureRounds(measuring, services, tenants)
  const unexpected = rows.reduce((sum, row) => sum + row.unexpected, 0)
  const report = { at: new Date().toISOString(), options, machine, unexpected, rows }
  const { json, html } = await writeNodesReport(report)
  process.stdout.write(`\n${showNodesReport(report)}All measurements: ${json}\n${html}\n`)
  return unexpected === 0 ? 0 : UNEXPECTED_ANSWERS
}

/** Every second round begins with the most processes. */
async function measureRounds(
  measuring: Measuring<BenchOptions>,
  services: Services,
  tenants: readonly BenchTenant[],
): Promise<NodesRow[]> {
  const { options, progress, signal } = measuring
  const progressed = progress.begin('Measuring', options.rounds * SIZES.length)
  const rows: NodesRow[] = []
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const nodes of round % 2 === 1 ? SIZES : SIZES.toReversed()) {
      signal.throwIfAborted()
      rows.push({ round, ...(await measureSize(measuring, services, tenants, nodes)) })
      progressed(rows.length)
    }
  }
  return rows
}

async function measureSize(
  { stack, options, signal }: Measuring<BenchOptions>,
  services: Services,
  tenants: readonly BenchTenant[],
  nodes: number,
): Promise<Omit<NodesRow, 'round'>> {
  const apis = [{ url: services.apiUrl, process: services.api }]
  const workers = [services.worker]
  while (apis.length < nodes) apis.push(await services.startApi())
  while (workers.length < nodes) workers.push(await services.startWorker())
  const load = (seconds: number) =>
    Promise.all(
      apis.map(({ url }) =>
        runLoad({
          url,
          concurrency: CLIENTS / nodes,
          seconds,
          expected: 201,
          next: () => payAndWait(anyOf(tenants)),
          signal,
        }),
      ),
    )
  await load(WARM_UP_SECONDS)
  const readCpu = async () => ({
    api: await cpuMsOf(apis.map(({ process }) => process.pid)),
    worker: await cpuMsOf(workers.map(({ pid }) => pid)),
    provider: await cpuMsOf([services.provider.pid]),
    postgres: await cpuMsOf([await stack.postgresPid()]),
  })
  const [cpuBefore, busyBefore] = [await readCpu(), await readMachineBusy()]
  const measured = new AbortController()
  const counting = sampleConnections(stack, measured.signal)
  const answers = await load(options.seconds)
  measured.abort()
  const [cpuAfter, busyAfter] = [await readCpu(), await readMachineBusy()]
  const extra = [...apis.slice(1).map(({ process }) => process), ...workers.slice(1)]
  for (const process of extra) process.stop()
  await Promise.all(extra.map(({ ended }) => ended))
  const timesMs = answers.flatMap((answer) => answer.timesMs)
  const cpuOf = (part: keyof typeof cpuAfter) =>
    (cpuAfter[part] - cpuBefore[part]) / Math.max(1, timesMs.length)
  return {
    nodes,
    perSecond: answers.reduce((sum, answer) => sum + answer.timesMs.length / answer.seconds, 0),
    medianMs: spreadOf(timesMs).median,
    busy: (busyAfter.busyMs - busyBefore.busyMs) / (busyAfter.allMs - busyBefore.allMs),
    apiCpuMs: cpuOf('api'),
    workerCpuMs: cpuOf('worker'),
    providerCpuMs: cpuOf('provider'),
    postgresCpuMs: cpuOf('postgres'),
    connections: await counting,
    unexpected: answers.reduce((sum, answer) => sum + answer.unexpected, 0),
  }
}

const SAMPLE_MS = 200

/** The most connections at a time, until it is aborted. */
async function sampleConnections({ owner }: BenchStack, signal: AbortSignal): Promise<number> {
  let most = 0
  while (!signal.aborted) {
    most = Math.max(most, await countConnections(owner.sql))
    await delay(SAMPLE_MS)
  }
  return most
}
