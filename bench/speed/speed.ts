// Measures the speed of the service, the limits that PostgreSQL and Express set, and optionally a
// peer.
import { randomBytes } from 'node:crypto'
import { findFreePort } from '../../dev/ports.ts'
import { startChild } from '../child.ts'
import type { Measuring } from '../benchmark.ts'
import type { Progress } from '../progress.ts'
import { publish, type Table } from '../report.ts'
import { UNLIMITED, type BenchStack, type Services } from '../stack.ts'
import type { BenchOptions } from './arguments.ts'
import { ratiosOf, type Ratio } from './ratios.ts'
import { runRounds, warmUp, type Measurement, type RoundParts } from './rounds.ts'
import { startMeasured } from './service.ts'
import { countNon2xx, countUnexpected, plotsOfRows, tableOfRows } from './summary.ts'
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

export async function measureSpeed(measuring: Measuring): Promise<number> {
  const { stack, options, signal } = measuring
  const measured = await startMeasured(measuring)
  const script = new URL('compared/lean-main.ts', import.meta.url)
  const lean: Lean = await startChild(script, signal, stack.databaseUrl)
  try {
    const parts = await startCompared(measuring, measured, lean)
    // A single round compares nothing.
    if (options.rounds > 1) {
      await warmUp({ parts }, measurementsOf({ ...options, concurrencies: [16] }))
      await parts.owner`vacuum (analyze)`
      await parts.owner`checkpoint`
    }
    const rows = await runRounds([{ parts }], measurementsOf(options), options.rounds)
    const [unexpected, non2xx] = [countUnexpected(rows), countNon2xx(rows)]
    const details = ratiosOf(rows)
    const ratios = Object.fromEntries(details.map(({ name, value }) => [name, value ?? null]))
    const { machine } = measured
    const at = new Date().toISOString()
    await publish(
      'latest',
      { at, options, machine, ratios, ratio_details: details, unexpected, non_2xx: non2xx, rows },
      {
        title: 'Speed',
        conditions:
          `${options.rounds} rounds of ${options.seconds} s each, ` +
          `${options.payments.toLocaleString('en')} payments before, fsync on, load on the same machine`,
        tables: [tableOfRows(rows), tableOfRatios(details, non2xx)],
        plots: plotsOfRows(rows),
      },
    )
    return unexpected === 0 ? 0 : UNEXPECTED_ANSWERS
  } finally {
    lean.end()
  }
}

const marked = (isReached: boolean) => (isReached ? 'reached' : 'missed')

function tableOfRatios(ratios: readonly Ratio[], non2xx: number): Table {
  const rows = ratios.map(({ title, value, lowest, highest, bound, wanted, aim, reached }) => {
    if (value === undefined) return { cells: [title, 'not measured'] }
    const required = wanted === null ? '' : `${bound} ${wanted}`
    const missed = reached === false ? 'MISSED' : ''
    return {
      cells: [title, value, lowest, highest, missed, required, aim ?? ''],
      mark: reached === undefined ? undefined : marked(reached),
    } as const
  })
  const cells = ['answers other than 2xx under distinct keys', non2xx, '', '', '', 'at most 0', 0]
  return {
    heading: [
      'Ratios: medians over the rounds',
      'median',
      'lowest',
      'highest',
      '',
      'required',
      'goal',
    ],
    rows: [...rows, { cells, mark: marked(non2xx === 0) }],
  }
}

type Lean = NonNullable<Place['lean']>

/** Starts the servers to compare the service with. */
async function startCompared(
  { stack, options }: Measuring,
  { parts, services }: Awaited<ReturnType<typeof startMeasured>>,
  lean: Lean,
): Promise<RoundParts> {
  const settings = { DATABASE_URL: stack.databaseUrl }
  const bare = await startServer(stack, 'bench/speed/compared/bare-main.ts', settings)
  const unkeyed = await startServer(stack, 'bench/speed/compared/unkeyed-main.ts', {
    ...UNLIMITED,
    ...settings,
    ENCRYPTION_KEYS: `bench:${randomBytes(32).toString('base64')}`,
  })
  const peer = options.peers ? await startPeer(stack, services) : undefined
  const urls = { bareUrl: bare.url, unkeyedUrl: unkeyed.url, dbosUrl: peer?.url }
  return {
    ...parts,
    place: { ...parts.place, ...urls, lean },
    nodePids: [...parts.nodePids, bare.pid, unkeyed.pid, lean.pid],
    peerPids: peer === undefined ? [] : [peer.pid],
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
