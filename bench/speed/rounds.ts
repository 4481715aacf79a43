// Runs the measurements in rounds. A round measures every subject once at every concurrency and
// under every condition. Each round has a different order, so that a busy moment of the machine
// affects all of them.
import type { Sql } from '../../src/db/connection/client.ts'
import { cpuMsOf } from '../cpu.ts'
import type { Progress } from '../progress.ts'
import { rounded, spreadOf, type Spread } from '../spread.ts'
import type { HotKey } from './load.ts'
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

/** Under which everything is measured. */
export interface Condition {
  /** Absent for the service as it is. */
  readonly name?: string
  readonly parts: RoundParts
  /** Runs the work under the condition. By default it is always met. */
  readonly within?: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** The subjects that it cannot have. */
  readonly without?: readonly SubjectName[]
}

export async function runRounds(
  conditions: readonly Condition[],
  measurements: readonly Measurement[],
  rounds: number,
): Promise<Row[]> {
  const steps = (round: number) =>
    inRoundOrder(measurements, round).flatMap((measurement) =>
      rotated(conditions, round)
        .filter((condition) => isPossible(condition, measurement))
        .map((condition) => ({ condition, measurement, round })),
    )
  const all = Array.from({ length: rounds }, (_, index) => steps(index + 1)).flat()
  const progressed = conditions[0]?.parts.progress.begin('Measuring', all.length)
  const rows: Row[] = []
  for (const { condition, measurement, round } of all) {
    const { name, parts, within = always } = condition
    parts.signal.throwIfAborted()
    const row = await within(() => measure(parts, measurement, round))
    rows.push({ ...row, condition: name })
    progressed?.(rows.length)
  }
  return rows
}

const WARM_UP_MAX_SECONDS = 1.5

/**
 * Runs every measurement once and discards the results: compiles code, plans statements and opens
 * connections.
 */
export async function warmUp(
  condition: Condition,
  measurements: readonly Measurement[],
): Promise<void> {
  const { parts, within = always } = condition
  await within(async () => {
    for (const measurement of measurements.filter((one) => isPossible(condition, one))) {
      parts.signal.throwIfAborted()
      const seconds = Math.min(measurement.seconds, WARM_UP_MAX_SECONDS)
      await measure(parts, { ...measurement, seconds }, 1)
    }
  })
}

const always: NonNullable<Condition['within']> = async (work) => await work()

function isPossible({ without = [] }: Condition, { subject }: Measurement): boolean {
  return !without.includes(subject.name)
}

/** Each round starts with a different item, and every second round runs backwards. */
function inRoundOrder<Item>(items: readonly Item[], round: number): Item[] {
  const order = rotated(items, Math.floor((items.length * (round - 1)) / 3))
  return round % 2 === 1 ? order : order.toReversed()
}

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const first = by % items.length
  return [...items.slice(first), ...items.slice(0, first)]
}

async function measure(
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
    perSecond: rounded(answers.timesMs.length / answers.seconds),
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

/**
 * Switches row-level security of all tables that have policies. Prepared statements on them are
 * planned again. Each table is switched in a transaction of its own: with locks on several, it could
 * be in a deadlock with a statement of the service.
 */
async function switchRowSecurity(sql: Sql, to: 'enable' | 'disable'): Promise<void> {
  await sql.unsafe(`
    do $$
    declare
      walled regclass;
    begin
      for walled in select distinct polrelid::regclass from pg_policy loop
        execute format('alter table %s ${to} row level security', walled);
        commit;
      end loop;
    end
    $$
  `)
}

async function readCpu(
  { nodePids, peerPids = [], postgresPid }: RoundParts,
  { name }: Measurement['subject'],
) {
  const pids = name === 'dbos' ? peerPids : nodePids
  const [nodeMs, postgresMs] = await Promise.all([cpuMsOf(pids), cpuMsOf([postgresPid])])
  return { nodeMs, postgresMs }
}
