// Runs `npm run bench -- --slow-clients`: the effect of a thousand slow clients on healthy ones. Each round
// measures with and without slow clients.
import { setTimeout as delay } from 'node:timers/promises'
import { startChild, type Child } from '../child.ts'
import type { Measuring } from '../benchmark.ts'
import type { Progress } from '../progress.ts'
import { publish } from '../report.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { compareConditions, runConditions, tableOfConditions } from '../speed/conditions.ts'
import { startMeasured } from '../speed/service.ts'
import { subjects, type SubjectName } from '../speed/subjects.ts'
import { countUnexpected, plotsOfRows, tableOfRows } from '../speed/summary.ts'
import type { SocketsCommand, SocketsReport } from './sockets-main.ts'

const UNEXPECTED_ANSWERS = 1

const SOCKETS = new URL('sockets-main.ts', import.meta.url)

const MEASURED_SUBJECTS: readonly SubjectName[] = ['accept', 'pay_wait', 'get']

/** Saturates two cores without long queues. */
const CLIENTS = 16

/**
 * Until the service has closed the first slow connections. From then on, closing and reopening is
 * steady.
 */
const SETTLE_MS = 3_000
const OPENING_SECONDS = 5

const WITHOUT = 'without'
const BESIDE = 'beside slow clients'
const P99_RATIO_MAX = 2
/** With a smaller share connected, the ratios do not show the effect of slow clients. */
const CONNECTED_SHARE_MIN = 0.9

type Sockets = Child<SocketsCommand, SocketsReport>

export async function announceSlowClients(
  { rounds, seconds, sockets }: BenchOptions,
  progress: Progress,
): Promise<void> {
  const round = MEASURED_SUBJECTS.length * (2 * seconds + OPENING_SECONDS)
  const minutes = Math.ceil((rounds * round + 60) / 60)
  progress.say(
    `${rounds} rounds without and with ${sockets} slow clients: about ${minutes} minutes`,
  )
}

export async function measureSlowClients(measuring: Measuring): Promise<number> {
  const { options, signal } = measuring
  const { machine, tenants, parts } = await startMeasured(measuring)
  const slowTenant = tenants[1]?.apiKey ?? ''
  const sockets: Sockets = await startChild(SOCKETS, signal, parts.place.apiUrl, slowTenant)
  const reports: SocketsReport[] = []
  const beside = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await sockets.ask({ count: options.sockets })
    await delay(SETTLE_MS)
    const result = await work()
    reports.push(await sockets.ask({ count: 0 }))
    return result
  }
  try {
    const { seconds, rounds } = options
    const measurements = subjects
      .filter(({ name }) => MEASURED_SUBJECTS.includes(name))
      .map((subject) => ({ subject, concurrency: CLIENTS, seconds }))
    const conditions = [
      { name: WITHOUT, parts },
      { name: BESIDE, parts, within: beside },
    ]
    const rows = await runConditions(conditions, measurements, rounds)
    const unexpected = countUnexpected(rows)
    const figures = compareConditions(rows, WITHOUT)
    const at = new Date().toISOString()
    const connected = summaryOf(reports)
    await publish(
      'slow-clients',
      { at, options, machine, unexpected, ...connected, figures, rows },
      {
        title: 'Healthy clients beside slow ones',
        conditions: `${rounds} rounds of ${seconds} s each`,
        tables: [
          tableOfRows(rows),
          {
            ...tableOfConditions(figures, WITHOUT, P99_RATIO_MAX),
            notes: describe(options.sockets, connected),
          },
        ],
        plots: plotsOfRows(rows),
      },
    )
    return unexpected === 0 ? 0 : UNEXPECTED_ANSWERS
  } finally {
    sockets.end()
  }
}

/** How many slow clients were connected during the measurements, and how many the service closed. */
function summaryOf(reports: readonly SocketsReport[]) {
  const sum = reports.reduce((all, { connectedMean }) => all + connectedMean, 0)
  return {
    held_mean: Math.round(sum / reports.length),
    held_min: Math.min(...reports.map(({ connectedMin }) => connectedMin)),
    closed: reports.reduce((all, { closed }) => all + closed, 0),
  }
}

function describe(sockets: number, connected: ReturnType<typeof summaryOf>): string[] {
  const isEnough = connected.held_mean >= CONNECTED_SHARE_MIN * sockets
  return [
    `slow clients: ${sockets}; connected: ${connected.held_mean} on average, ${connected.held_min} at the minimum` +
      (isEnough ? '' : ': TOO FEW, the ratios say nothing'),
    `the service closed ${connected.closed} connections of slow clients, each of which was opened again`,
  ]
}
