// Runs the measurements in rounds. A round measures every subject once at every concurrency. Each
// round has a different order, so that a busy moment of the machine affects all subjects.
import type { Sql } from '../../src/db/connection/client.ts'
import { cpuMsOf } from '../cpu.ts'
import type { Progress } from '../progress.ts'
import { rounded, spreadOf, type Spread } from '../spread.ts'
import type { Answers, HotKey } from './load.ts'
import { switchRowSecurity } from './row-security.ts'
import { payUntilSucceeded, type Place, type Subject, type SubjectName } from './subjects.ts'
import { drain, withWorkerPaused } from './unfinished.ts'

export interface Row {
  readonly subject: SubjectName
  readonly concurrency: number
  /** What was measured beside, or with which extra; undefined for the service as it is. */
  readonly condition?: string | undefined
  readonly round: number
  readonly perSecond: number
  readonly latencyMs: Spread
  readonly unexpected: number
  readonly non2xx: number
  readonly hotKey?: HotKey
  /** Processor time per answer, in milliseconds. */
  readonly nodeCpuMs: number
  readonly postgresCpuMs: number
}

export interface Measurement {
  readonly subject: Subject & { readonly name: SubjectName }
  readonly concurrency: number
  readonly seconds: number
}

export interface RoundParts {
  readonly place: Place
  readonly owner: Sql
  /** The processes of the service and of the limits. */
  readonly nodePids: readonly number[]
  /**
   * The processes of the peer, counted apart: the idle work of one side must not count for the
   * other.
   */
  readonly peerPids?: readonly number[]
  readonly postgresPid: number
  readonly workerPid: number
  readonly progress: Progress
  readonly signal: AbortSignal
}

export async function runRounds(
  parts: RoundParts,
  measurements: readonly Measurement[],
  rounds: number,
): Promise<Row[]> {
  const progressed = parts.progress.begin('Measuring', rounds * measurements.length)
  const rows: Row[] = []
  for (let round = 1; round <= rounds; round += 1) {
    for (const measurement of inRoundOrder(measurements, round)) {
      parts.signal.throwIfAborted()
      rows.push(await measure(parts, measurement, round))
      progressed(rows.length)
    }
  }
  return rows
}

/** Runs every measurement once and discards the results. */
export async function runWarmUp(
  parts: RoundParts,
  measurements: readonly Measurement[],
): Promise<void> {
  await runRounds(
    { ...parts, progress: { ...parts.progress, begin: () => () => {} } },
    measurements,
    1,
  )
}

/** Each round starts with a different item, and every second round runs backwards. */
function inRoundOrder<Item>(items: readonly Item[], round: number): Item[] {
  const first = Math.floor((items.length * (round - 1)) / 3) % items.length
  const rotated = [...items.slice(first), ...items.slice(0, first)]
  return round % 2 === 1 ? rotated : rotated.toReversed()
}

export async function measure(
  parts: RoundParts,
  { subject, concurrency, seconds }: Measurement,
  round: number,
): Promise<Row> {
  const { owner, place, workerPid } = parts
  if (subject.withoutRowSecurity) await switchAndReplan(parts, 'disable')
  const run = async () => {
    const before = await readCpu(parts, subject)
    const answers = await subject.run(place, concurrency, seconds, owner)
    return { before, answers, after: await readCpu(parts, subject) }
  }
  const work = { owner, tenantId: place.tenant.id, workerPid, signal: parts.signal }
  const { before, answers, after } = await (subject.pausesWorker
    ? withWorkerPaused(work, run)
    : run())
  await drain(work)
  if (subject.withoutRowSecurity) await switchAndReplan(parts, 'enable')
  const each = (used: number) => rounded(used / Math.max(1, answers.timesMs.length))
  return {
    subject: subject.name,
    concurrency,
    round,
    perSecond: rounded(countOf(answers) / answers.seconds),
    latencyMs: spreadOf(answers.timesMs),
    unexpected: answers.unexpected,
    non2xx: answers.non2xx,
    ...(answers.hotKey && { hotKey: answers.hotKey }),
    nodeCpuMs: each(after.nodeMs - before.nodeMs),
    postgresCpuMs: each(after.postgresMs - before.postgresMs),
  }
}

/** A load that plans the statements again, so that the planning is not measured. */
const PLANNING = { clients: 16, seconds: 1.5 }

async function switchAndReplan(parts: RoundParts, to: 'enable' | 'disable'): Promise<void> {
  await switchRowSecurity(parts.owner, to)
  const { owner, place, signal } = parts
  await payUntilSucceeded(place, PLANNING.clients, PLANNING.seconds)
  await drain({ owner, tenantId: place.tenant.id, signal })
}

function countOf({ timesMs }: Answers): number {
  return timesMs.length
}

async function readCpu(
  { nodePids, peerPids = [], postgresPid }: RoundParts,
  { name }: Measurement['subject'],
) {
  const pids = name === 'dbos' ? peerPids : nodePids
  const [nodeMs, postgresMs] = await Promise.all([cpuMsOf(pids), cpuMsOf([postgresPid])])
  return { nodeMs, postgresMs }
}
