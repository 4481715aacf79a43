// Runs the measurements in rounds. A round measures every subject once at every concurrency. Each
// round has a different order, so that a busy moment of the machine affects all subjects.
import type { Sql } from '../../src/db/connection/client.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../../src/db/queue/queues.ts'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { cpuMsOf } from '../cpu.ts'
import type { Progress } from '../progress.ts'
import { rounded, spreadOf, type Spread } from '../spread.ts'
import type { Answers, HotKey } from './load.ts'
import { switchRowSecurity } from './row-security.ts'
import { payUntilSucceeded, type Place, type Subject, type SubjectName } from './subjects.ts'

export interface Row {
  readonly subject: SubjectName
  readonly concurrency: number
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
  if (subject.pausesWorker) process.kill(workerPid, 'SIGSTOP')
  const before = await readCpu(parts, subject)
  const answers = await subject.run(place, concurrency, seconds, owner)
  const after = await readCpu(parts, subject)
  if (subject.pausesWorker) {
    await removeUnfinished(owner, place.tenant.id)
    process.kill(workerPid, 'SIGCONT')
  }
  await drain(parts)
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
  await payUntilSucceeded(parts.place, PLANNING.clients, PLANNING.seconds)
  await drain(parts)
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

/**
 * Deletes the payments that no worker has completed, for example because it was paused, with or
 * without an operation. Completing them would take too long.
 */
export async function removeUnfinished(sql: Sql, tenantId: string): Promise<void> {
  await inTransaction(sql, async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx`
      delete from ${tx(JOB_SCHEMA)}.job
      where name = ${OPERATIONS_QUEUE} and data ->> 'tenantId' = ${tenantId} and state <> 'completed'
    `
    await tx`
      with gone as (
        delete from payments
        where tenant_id = ${tenantId} and status = 'processing'
        returning id
      ),
      operation as (
        delete from idempotency_keys using gone
        where tenant_id = ${tenantId} and payment_id = gone.id
      ),
      event as (
        delete from events using gone
        where tenant_id = ${tenantId} and payment_id = gone.id
      )
      delete from phase_runs using gone
      where tenant_id = ${tenantId} and payment_id = gone.id
    `
  })
}

const DRAIN_LIMIT_MS = 60_000
const DRAIN_POLL_MS = 20

/** Waits until the workers have caught up, so that no measurement affects the next one. */
async function drain({ owner, place, signal }: RoundParts): Promise<void> {
  const limit = AbortSignal.timeout(DRAIN_LIMIT_MS)
  for (;;) {
    const [row] = await owner<{ left: boolean }[]>`
      select exists (
        select from idempotency_keys
        where tenant_id = ${place.tenant.id} and status in ('pending', 'processing')
      ) as left
    `
    if (row?.left !== true) return
    if (limit.aborted) throw new Error('the workers have left operations unfinished')
    signal.throwIfAborted()
    await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS))
  }
}
