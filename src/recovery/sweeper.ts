// The sweeper: finds operations whose owner died and jobs that were lost, and sees to it that somebody
// goes on. It never makes a foreign call itself.
import {
  deadLetterOrphanedJobs,
  deleteObsoleteDeadLetters,
  findUnrepeatable,
  parkIfExpired,
  requeueIfJobless,
  resumeIfExpired,
  type LocalPhase,
  type RepeatRule,
} from '../db/operations/sweeper.ts'
import { isStoreUnavailable } from '../db/connection/store-errors.ts'
import { inTransaction } from '../db/connection/transaction.ts'
import type { OperationRef } from '../domain/operations/operation.ts'
import {
  operationNamed,
  type Engine,
  type EngineSettings,
  type Operations,
} from '../engine/engine.ts'

/** How much one sweep has set going again, by what was wrong. */
export interface SweepCounts extends Record<string, number> {
  /** Leases that ran out, whose phase may be done again. */
  readonly resumed: number
  /** Leases that ran out, whose phase must not be done again unasked: the reconciler's now. */
  readonly parked: number
  /** Operations that waited for a job that was gone. */
  readonly requeued: number
  /** Jobs for operations that are not there, which are dead letters now. */
  readonly orphaned: number
  /** Dead letters of operations that have been completed since. */
  readonly dropped: number
}

/** What one statement takes on, so that each of them is a matter of milliseconds. */
const BATCH = 50

/** With full batches a sweep ends here, so that it never keeps a worker from stopping. */
const BATCHES_MAX = 40

/** Sweeps once. Several at once, here and in other processes, do no harm. */
export async function sweep(engine: Engine): Promise<SweepCounts> {
  const { sql } = engine.store
  const resumed = await resumeAll(engine)
  const parked = await parkAll(engine, await findUnrepeatable(sql, repeatRule(engine), BATCH))
  const requeued = await requeueIfJobless(sql)
  const orphaned = await deadLetterOrphanedJobs(sql)
  const dropped = await deleteObsoleteDeadLetters(sql)

  const { log } = engine
  for (const { id } of resumed) log.warn({ operation: id }, 'a lease ran out; put back to work')
  for (const { id } of requeued) log.warn({ operation: id }, 'a job was gone; it has a new one')
  if (orphaned > 0) log.warn({ orphaned }, 'jobs without an operation are dead letters now')
  return {
    resumed: resumed.length,
    parked,
    requeued: requeued.length,
    orphaned,
    dropped,
  }
}

/** What may be done again: while the provider remembers, everything; after that, what calls nobody. */
export function repeatRule({ settings, operations }: RuleParts): RepeatRule {
  const { PROVIDER_KEY_WINDOW_SECONDS: keyWindowSeconds, JOB_RETRY_LIMIT } = settings
  return { keyWindowSeconds, localPhases: localPhasesOf(operations), attempts: JOB_RETRY_LIMIT + 1 }
}

interface RuleParts extends Pick<Engine, 'operations'> {
  readonly settings: Pick<EngineSettings, 'PROVIDER_KEY_WINDOW_SECONDS' | 'JOB_RETRY_LIMIT'>
}

function localPhasesOf(operations: Operations): LocalPhase[] {
  return operations.flatMap(({ name, phases }) =>
    Object.entries(phases)
      .filter(([, phase]) => phase.call === undefined)
      .map(([recoveryPoint]) => ({ operation: name, recoveryPoint })),
  )
}

async function resumeAll(engine: Engine): Promise<OperationRef[]> {
  const resumed: OperationRef[] = []
  for (let batches = 1; batches <= BATCHES_MAX; batches += 1) {
    const batch = await resumeIfExpired(engine.store.sql, repeatRule(engine), BATCH)
    resumed.push(...batch)
    if (batch.length < BATCH) break
  }
  return resumed
}

/** One that cannot be parked must not keep the others from it: it is logged, and tried again. */
async function parkAll(engine: Engine, refs: readonly OperationRef[]): Promise<number> {
  let parked = 0
  for (const ref of refs) {
    try {
      if (!(await park(engine, ref))) continue
      parked += 1
      engine.log.warn({ operation: ref.id }, 'a lease ran out; its outcome is unknown')
    } catch (error) {
      if (isStoreUnavailable(error)) throw error
      engine.log.error({ err: error, operation: ref.id }, 'an operation could not be parked')
    }
  }
  return parked
}

async function park(engine: Engine, ref: OperationRef): Promise<boolean> {
  return await inTransaction(engine.store.sql, async (tx) => {
    const row = await parkIfExpired(tx, ref, engine.settings.CHECK_DELAYS_SECONDS)
    if (row === undefined) return false
    const operation = operationNamed(engine, row.operation)
    const marking = { tx, key: row.key }
    await operation.markUnknown(marking, operation.subject(row))
    return true
  })
}
