// Runs `npm run bench -- --neighbours`: the latency of a tenant beside the noise of another one.
// Each round measures every level of every noise, and the tenant alone.
import { fileURLToPath } from 'node:url'
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { startDatabase, type Measuring } from '../benchmark.ts'
import { startChild } from '../child.ts'
import type { Progress } from '../progress.ts'
import { send } from '../requests.ts'
import { seedAll } from '../seed.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { authorizeAtProvider } from '../speed/subjects.ts'
import { spreadOf } from '../spread.ts'
import { UNLIMITED, type BenchTenant } from '../stack.ts'
import { compare, type NeighbourRow } from './compare.ts'
import type { GuessesCommand, GuessesReport } from './guesses-main.ts'
import { measureNeighbour } from './neighbour.ts'
import type { NoiseName } from './levels.ts'
import { noises, type Guesses, type Noise, type NoiseParts } from './noises.ts'
import { untilQuiet } from './quiet.ts'
import { startReceiver } from './receiver.ts'
import { showNeighbourReport, writeNeighbourReport, type NeighbourReport } from './report.ts'

const UNEXPECTED_ANSWERS = 1

const GUESSES = fileURLToPath(new URL('guesses-main.ts', import.meta.url))

/** To start and to end a noise, and to wait for the last webhooks. */
const OVERHEAD_SECONDS = 5

export async function announceNeighbours(
  { rounds, seconds, levels }: BenchOptions,
  progress: Progress,
): Promise<void> {
  const measured = Object.values(levels).flat().length
  const minutes = Math.ceil((rounds * measured * (seconds + OVERHEAD_SECONDS) + 60) / 60)
  progress.say(`${rounds} rounds beside a noisy tenant: about ${minutes} minutes`)
}

interface Parts extends NoiseParts {
  readonly providerUrl: string
  readonly neighbour: BenchTenant
  readonly options: BenchOptions
}

export async function measureNeighbours(measuring: Measuring<BenchOptions>): Promise<number> {
  const { stack, options, progress, signal } = measuring
  const machine = await startDatabase(measuring)
  const tenants = await stack.createTenants()
  const [noisy, neighbour] = tenants
  if (noisy === undefined || neighbour === undefined) throw new Error('the stack needs two tenants')
  const seeded = progress.begin('Seeding', options.payments)
  await seedAll(stack.owner.sql, { keys: options.payments, tenants }, seeded)
  progress.say('Starting the service')
  const { apiUrl, providerUrl } = await stack.startServices({
    ...UNLIMITED,
    WEBHOOK_ALLOW_INSECURE: 'true',
  })
  const receiver = await startReceiver()
  const guesses: Guesses = await startChild<GuessesCommand, GuessesReport>(GUESSES, apiUrl)
  const end = () => {
    receiver.stop()
    guesses.end()
  }
  signal.addEventListener('abort', end)
  const owner = stack.owner.sql
  const parts = { apiUrl, providerUrl, owner, noisy, neighbour, receiver, guesses, signal, options }
  try {
    await addEndpoint(parts)
    await measureNeighbour(parts, WARM_UP_SECONDS)
    await owner`vacuum (analyze)`
    const measured = await measureRounds(parts, progress)
    const at = new Date().toISOString()
    const levels = compare(measured.rows, measured.call_ms)
    return await publish({ at, options, machine, ...measured, levels })
  } finally {
    end()
  }
}

const WARM_UP_SECONDS = 5

async function addEndpoint({ apiUrl, neighbour, receiver }: Parts): Promise<void> {
  const headers = {
    authorization: `Bearer ${neighbour.apiKey}`,
    'idempotency-key': randomUUID(),
    'content-type': 'application/json',
  }
  const agent = new Agent()
  const body = JSON.stringify({ url: receiver.url })
  const call = { agent, headers, method: 'POST' }
  const { status, text } = await send(`${apiUrl}/v1/webhook-endpoints`, call, body)
  if (status !== 201) throw new Error(`the endpoint of B was answered with ${status}: ${text}`)
}

/** Every second round begins with the loudest noise. */
async function measureRounds(
  parts: Parts,
  progress: Progress,
): Promise<Pick<NeighbourReport, 'rows' | 'call_ms' | 'guesses'>> {
  const { levels, rounds } = parts.options
  const progressed = progress.begin('Measuring', rounds * Object.values(levels).flat().length)
  const rows: NeighbourRow[] = []
  const callsMs: Record<NoiseName, number[]> = { backlog: [], hanging: [], guesses: [] }
  for (let round = 1; round <= rounds; round += 1) {
    for (const noise of round % 2 === 1 ? noises : noises.toReversed()) {
      await slowProvider(parts, noise.providerMs)
      const calls = await authorizeAtProvider(parts, 1, CALLS_SECONDS)
      callsMs[noise.name].push(...calls.timesMs)
      const own = levels[noise.name]
      for (const level of round % 2 === 1 ? own : own.toReversed()) {
        rows.push({
          noise: noise.name,
          level,
          round,
          ...(await measureBeside(parts, noise, level)),
        })
        progressed(rows.length)
      }
    }
  }
  return {
    rows,
    call_ms: {
      backlog: spreadOf(callsMs.backlog).median,
      hanging: spreadOf(callsMs.hanging).median,
      guesses: spreadOf(callsMs.guesses).median,
    },
    guesses: (await parts.guesses.ask({ perSecond: 0 })).answers,
  }
}

/** How long the provider is measured without the service. */
const CALLS_SECONDS = 2

async function measureBeside(parts: Parts, noise: Noise, level: number) {
  const { signal, options } = parts
  signal.throwIfAborted()
  const stop = level === 0 ? undefined : await noise.start(parts, level)
  try {
    return await measureNeighbour(parts, options.seconds)
  } finally {
    await stop?.()
    await untilQuiet(parts.owner, signal)
  }
}

/** Makes the provider's calls that move money slower. */
async function slowProvider({ providerUrl }: Parts, delayMs: number): Promise<void> {
  const faults = `${providerUrl}/_control/faults`
  await fetch(faults, { method: 'DELETE' })
  if (delayMs === 0) return
  const rule = { match: { method: 'POST' }, fault: 'delay', delay_ms: delayMs, times: 1e9 }
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(faults, { method: 'POST', headers, body: JSON.stringify(rule) })
  if (!response.ok) throw new Error(`the stand-in refused the delay: ${response.status}`)
}

async function publish(report: NeighbourReport): Promise<number> {
  const { json, html } = await writeNeighbourReport(report)
  process.stdout.write(`\n${showNeighbourReport(report)}All measurements: ${json}\n${html}\n`)
  const isWrong = report.levels.some(({ unexpected, missing }) => unexpected + missing > 0)
  return isWrong ? UNEXPECTED_ANSWERS : 0
}
