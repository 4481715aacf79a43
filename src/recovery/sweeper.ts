// The sweeper: resumes or parks operations whose lease expired, and replaces lost jobs. It never
// makes a provider call itself.
import {
  deadLetterOrphanedJobs,
  deleteObsoleteDeadLetters,
  findUnrepeatable,
  parkIfExpired,
  requeueIfJobless,
  resumeIfExpired,
  type PhaseName,
  type RepeatRule,
} from '../db/operations/sweeper.ts'
import { isStoreUnavailable } from '../db/connection/store-errors.ts'
import { inService, inTenant } from '../db/connection/transaction.ts'
import type { OperationRef } from '../domain/operations/operation.ts'
import {
  operationNamed,
  type Engine,
  type EngineSettings,
  type Operations,
} from '../engine/engine.ts'
import { keyWindowSeconds } from '../provider/capabilities.ts'
import type { PaymentProvider } from '../provider/payment-provider.ts'

/** The results of one sweep, by problem. */
export interface SweepCounts extends Record<string, number> {
  /** Expired leases whose phase may be repeated. */
  readonly resumed: number
  /**
   * Expired leases whose phase must not be repeated without a look-up. The outcome resolver
   * continues.
   */
  readonly parked: number
  /** Pending operations whose job was lost. */
  readonly requeued: number
  /** Jobs without an operation, which are dead letters now. */
  readonly orphaned: number
  /** Dead letters of operations that have completed since. */
  readonly dropped: number
}

/** Operations per statement, so that each statement takes only milliseconds. */
const BATCH = 50

/** A sweep ends after this many full batches, so that it never delays a shutdown. */
const BATCHES_MAX = 40

/** Sweeps once. Concurrent sweeps, in this and in other processes, are harmless. */
export async function sweep(engine: Engine): Promise<SweepCounts> {
  const { sql } = engine.store
  const resumed = await resumeAll(engine)
  const parked = await parkAll(engine, await findUnrepeatable(sql, repeatRule(engine), BATCH))
  const requeued = await inService(sql, (tx) => requeueIfJobless(tx))
  const orphaned = await deadLetterOrphanedJobs(sql)
  const dropped = await deleteObsoleteDeadLetters(sql)

  const { log } = engine
  for (const { id } of resumed) log.warn({ operation: id }, 'a lease expired; operation resumed')
  for (const { id } of requeued) log.warn({ operation: id }, 'a job was lost; created a new one')
  if (orphaned > 0) log.warn({ orphaned }, 'jobs without an operation are dead letters now')
  return {
    resumed: resumed.length,
    parked,
    requeued: requeued.length,
    orphaned,
    dropped,
  }
}

/**
 * Which phases may be repeated: all while the provider remembers the key; afterwards, and if it keeps
 * no keys, only local phases.
 */
export function repeatRule({ providers, settings, operations }: RuleParts): RepeatRule {
  return {
    keyWindows: providers.all.map(({ name, capabilities }) => ({
      provider: name,
      seconds: keyWindowSeconds(capabilities, settings),
    })),
    localPhases: localPhasesOf(operations),
    attempts: settings.JOB_RETRY_LIMIT + 1,
  }
}

interface RuleParts extends Pick<Engine, 'operations'> {
  readonly providers: { readonly all: readonly Pick<PaymentProvider, 'name' | 'capabilities'>[] }
  readonly settings: Pick<EngineSettings, 'PROVIDER_KEY_WINDOW_SECONDS' | 'JOB_RETRY_LIMIT'>
}

function localPhasesOf(operations: Operations): PhaseName[] {
  return operations.flatMap(({ name, phases }) =>
    Object.entries(phases)
      .filter(([, phase]) => phase.call === undefined)
      .map(([recoveryPoint]) => ({ operation: name, recoveryPoint })),
  )
}

async function resumeAll(engine: Engine): Promise<OperationRef[]> {
  const resumed: OperationRef[] = []
  for (let batches = 1; batches <= BATCHES_MAX; batches += 1) {
    const rule = repeatRule(engine)
    const batch = await inService(engine.store.sql, (tx) => resumeIfExpired(tx, rule, BATCH))
    resumed.push(...batch)
    if (batch.length < BATCH) break
  }
  return resumed
}

/**
 * An operation that cannot be parked must not block the others. It is logged, and retried next
 * time.
 */
async function parkAll(engine: Engine, refs: readonly OperationRef[]): Promise<number> {
  let parked = 0
  for (const ref of refs) {
    try {
      if (!(await park(engine, ref))) continue
      parked += 1
      engine.log.warn({ operation: ref.id }, 'a lease expired; the outcome is unknown')
    } catch (error) {
      if (isStoreUnavailable(error)) throw error
      engine.log.error({ err: error, operation: ref.id }, 'an operation could not be parked')
    }
  }
  return parked
}

async function park(engine: Engine, ref: OperationRef): Promise<boolean> {
  return await inTenant(engine.store.sql, ref.tenantId, async (tx) => {
    const row = await parkIfExpired(tx, ref, engine.settings.CHECK_DELAYS_SECONDS)
    if (row === undefined) return false
    const operation = operationNamed(engine, row.operation)
    const marking = { tx, key: row.key }
    await operation.markUnknown(marking, operation.subject(row))
    return true
  })
}
