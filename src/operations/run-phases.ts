// The engine: claims an operation and takes it through its atomic phases. Between two recovery points
// there is at most one foreign call, made without a transaction, and then one transaction that
// records it and advances, guarded by lease epoch and recovery point.
import type { Transaction } from '../db/client.ts'
import {
  advanceIfHeld,
  claimIfUnowned,
  finishIfHeld,
  giveBackIfHeld,
  handOverIfHeld,
  readOperationState,
} from '../db/leases.ts'
import { appendPhaseRuns } from '../db/phase-runs.ts'
import { StaleResourceError } from '../db/payments.ts'
import { isRefusedForItsContent, isStoreUnavailable } from '../db/store-errors.ts'
import { inTransaction } from '../db/transaction.ts'
import type { OperationRef } from '../domain/operation.ts'
import { renderFinal } from '../domain/stored-response.ts'
import { backoff } from './backoff.ts'
import { callForeign, type Call, type CutShort } from './call-foreign.ts'
import type { Operation, Recording, Step } from './define-operation.ts'
import { operationNamed, type Engine } from './engine.ts'
import { isOver, LeaseLostError, type Lease } from './lease.ts'

/**
 * How a run ended. `finished`: the response is stored. `retry`: nothing is settled, try again later.
 * `gave_up`: out of tries, now `failed_retryable` or `unknown`. `handed_over`: this process ends, and
 * a new job has another one go on. `leased`: somebody else works on it. `nothing_to_do`: it was settled
 * before.
 */
export type RunResult =
  | 'finished'
  | 'retry'
  | 'gave_up'
  | 'handed_over'
  | 'leased'
  | 'nothing_to_do'

/**
 * Claims an operation and runs it as far as it goes. What cannot be settled is tried again, until the
 * operation has been claimed once more than `JOB_RETRY_LIMIT`; then it is handed to the client's next
 * retry or to the reconciler. Giving up is always the decision of a run that lives: the job of one
 * that died is tried again, however often.
 *
 * @throws LeaseLostError when another owner took over; nothing was written since.
 */
export async function runOperation(engine: Engine, ref: OperationRef): Promise<RunResult> {
  const { store, settings, clock } = engine
  const endsAtMs = clock.monotonicMs() + settings.LEASE_MS
  const claim = await claimIfUnowned(store.sql, ref, settings.LEASE_MS)
  if (claim === undefined) return await explainUnclaimed(engine, ref)
  const operation = operationNamed(claim.operation)
  const lease = { claim, subject: operation.subject(claim), endsAtMs }
  return await runPhases(engine, operation, lease)
}

async function explainUnclaimed({ store }: Engine, ref: OperationRef): Promise<RunResult> {
  const state = await readOperationState(store.sql, ref)
  const worked = state?.status === 'processing' || state?.status === 'pending'
  return worked ? 'leased' : 'nothing_to_do'
}

/**
 * Records what has become of the foreign call that an operation was in doubt about, and goes on from
 * there as far as it goes.
 *
 * @param found the lease on the operation, and the look that told.
 * @throws LeaseLostError when another owner took over; nothing was written since.
 */
export async function runFromFound(
  engine: Engine,
  operation: Operation,
  found: SettledCall,
): Promise<RunResult> {
  return await runPhases(engine, operation, found.lease, found)
}

async function runPhases(
  engine: Engine,
  operation: Operation,
  start: Lease,
  found?: SettledCall,
): Promise<RunResult> {
  let lease = start
  let known = found
  for (;;) {
    const startedAtMs = engine.clock.monotonicMs()
    const call = known ?? (await callForeign(engine, operation, lease))
    if (call !== known) observeCalls(engine, call)
    known = undefined
    if (call.kind === 'cut_short') return await handOver(engine, call)
    if (call.kind === 'unsettled') return await giveBack(engine, operation, call)
    const endsAtMs = engine.clock.monotonicMs() + engine.settings.LEASE_MS
    const step = await record(engine, operation, call).catch(unrecordable)
    if (step === undefined) return await giveBack(engine, operation, withoutRecord(call))
    observePhase(engine, call, startedAtMs)
    if (step.kind === 'finish') {
      engine.announceSettled(lease.claim.id)
      return 'finished'
    }
    const { claim } = call.lease
    const reached = { recoveryPoint: step.to, inDoubt: false, phaseAgeMs: 0 }
    lease = { claim: { ...claim, ...reached }, subject: step.subject, endsAtMs }
  }
}

/** Undefined for an answer that the database refuses for what it says, now and on every later try. */
function unrecordable(error: unknown): undefined {
  if (!isRefusedForItsContent(error)) throw error
}

/** Something was settled, but what cannot be said: to us its outcome is unknown. */
function withoutRecord({ lease }: SettledCall): UnsettledCall {
  const reason = 'the answer of the provider cannot be recorded'
  return { kind: 'unsettled', lease, runs: [], inDoubt: true, reason, final: true }
}

export type SettledCall = Extract<Call, { kind: 'settled' }>
type UnsettledCall = Extract<Call, { kind: 'unsettled' }>

/**
 * Records a phase and advances, in one transaction. When the store fails, what became of the commit
 * is unknown: the row is read again, and the transaction repeated only if it did not happen.
 */
async function record(
  engine: Engine,
  operation: Operation,
  call: SettledCall,
): Promise<Step<string, unknown>> {
  const { lease } = call
  // Of the last try that came as far as its commit.
  let step: Step<string, unknown> | undefined
  for (let tries = 1; ; tries += 1) {
    try {
      await inTransaction(engine.store.sql, async (tx) => {
        step = await recordIn(tx, engine, operation, call)
      })
      if (step === undefined) throw new Error('a transaction committed without a step')
      logPhase(engine, call, reachedBy(step))
      return step
    } catch (error) {
      if (step !== undefined && (await hasReached(engine, lease, reachedBy(step)))) return step
      if (!isStoreUnavailable(error) || isOver(engine, lease))
        throw await explained(engine, lease, error)
      engine.log.warn({ err: error, operation: lease.claim.id }, 'recording failed, trying again')
      await engine.clock.sleep(backoff(engine, tries))
    }
  }
}

async function recordIn(
  tx: Transaction,
  engine: Engine,
  operation: Operation,
  { lease, runs, settled }: SettledCall,
): Promise<Step<string, unknown>> {
  const { claim } = lease
  const { LEASE_MS, KEY_RETENTION_SECONDS, IDEMPOTENCY_FLAVOR } = engine.settings
  const step = await recordPhase(tx, operation, lease, settled)
  const reached = reachedBy(step)
  // Sent together: one round trip.
  const [held] = await Promise.all([
    step.kind === 'finish'
      ? finishIfHeld(tx, claim, renderFinal(step.answer, IDEMPOTENCY_FLAVOR), KEY_RETENTION_SECONDS)
      : advanceIfHeld(tx, claim, step.to, LEASE_MS),
    appendPhaseRuns(
      tx,
      claim,
      runs.map((run, index) => (index === runs.length - 1 ? { ...run, reached } : run)),
    ),
  ])
  if (!held) throw new LeaseLostError(claim)
  return step
}

function recordPhase(
  tx: Transaction,
  { phases, name }: Operation,
  { claim, subject }: Lease,
  settled: SettledCall['settled'],
): Promise<Step<string, unknown>> {
  const { recoveryPoint } = claim
  const phase = phases[recoveryPoint]
  if (phase === undefined) throw new Error(`${name} has no recovery point ${recoveryPoint}`)
  const recording = recordingOf(tx, claim)
  if (phase.call === undefined) return phase.record(recording, subject)
  if (settled === undefined) throw new Error(`${name} called nobody from ${recoveryPoint}`)
  return phase.record(recording, subject, settled)
}

function recordingOf(tx: Transaction, { id, key, fees }: Lease['claim']): Recording {
  return { tx, operationId: id, key, fees }
}

function reachedBy(step: Step<string, unknown>): string {
  return step.kind === 'finish' ? 'finished' : step.to
}

/** Whether our own transaction committed although its acknowledgment never came. */
async function hasReached(engine: Engine, { claim }: Lease, reached: string): Promise<boolean> {
  try {
    const state = await readOperationState(engine.store.sql, claim)
    return state?.leaseEpoch === claim.leaseEpoch && state.recoveryPoint === reached
  } catch (error) {
    // Still out of reach, and so still unknown: the caller repeats the guarded transaction.
    if (isStoreUnavailable(error)) return false
    throw error
  }
}

/** Ends a run that settled nothing: to the next try, or, out of tries, to whoever may go on. */
async function giveBack(
  engine: Engine,
  operation: Operation,
  { lease, runs, inDoubt, reason, final }: UnsettledCall,
): Promise<RunResult> {
  const { claim, subject } = lease
  const unsettled = inDoubt ? 'unknown' : 'failed_retryable'
  const outOfTries = claim.attempt > engine.settings.JOB_RETRY_LIMIT
  const status = final || outOfTries ? unsettled : 'pending'
  const checkDelaysSeconds = engine.settings.CHECK_DELAYS_SECONDS
  await inTransaction(engine.store.sql, async (tx) => {
    const recording = recordingOf(tx, claim)
    if (status === 'unknown') await operation.unknown(recording, subject)
    if (status === 'failed_retryable') await operation.failed(recording, subject)
    const [held] = await Promise.all([
      giveBackIfHeld(tx, claim, { status, inDoubt, reason, checkDelaysSeconds }),
      appendPhaseRuns(tx, claim, runs),
    ])
    if (!held) throw new LeaseLostError(claim)
  }).catch(async (error: unknown) => {
    throw await explained(engine, lease, error)
  })
  engine.log.warn({ operation: claim.id, phase: claim.recoveryPoint, status, reason }, 'given back')
  engine.observe.gaveBack(status)
  if (status === 'pending') return 'retry'
  engine.announceSettled(claim.id)
  return 'gave_up'
}

/** Ends a run because its process ends: the operation waits for the next worker, with a job of its own. */
async function handOver(engine: Engine, { lease, runs, inDoubt }: CutShort): Promise<RunResult> {
  const { claim } = lease
  await inTransaction(engine.store.sql, async (tx) => {
    const [held] = await Promise.all([
      handOverIfHeld(tx, claim, inDoubt),
      appendPhaseRuns(tx, claim, runs),
    ])
    if (!held) throw new LeaseLostError(claim)
  })
  engine.log.info({ operation: claim.id, phase: claim.recoveryPoint, inDoubt }, 'handed over')
  engine.observe.gaveBack('pending')
  return 'handed_over'
}

/** Whoever took over may have moved the resource on already, which is noticed before the lost lease. */
async function explained({ store }: Engine, { claim }: Lease, error: unknown): Promise<unknown> {
  if (!(error instanceof StaleResourceError)) return error
  const state = await readOperationState(store.sql, claim)
  const held = state?.status === 'processing' && state.leaseEpoch === claim.leaseEpoch
  return held ? error : new LeaseLostError(claim)
}

function observeCalls({ observe }: Engine, { lease, runs }: Call): void {
  const { operation, recoveryPoint: phase } = lease.claim
  for (const { outcome } of runs) {
    if (outcome !== undefined) observe.called({ operation, phase }, outcome.outcome)
  }
}

function observePhase({ observe, clock }: Engine, { lease }: Call, startedAtMs: number): void {
  const { operation, recoveryPoint: phase } = lease.claim
  observe.recorded({ operation, phase }, (clock.monotonicMs() - startedAtMs) / 1_000)
}

function logPhase({ log }: Engine, { lease, runs }: SettledCall, reached: string): void {
  const { id, operation, recoveryPoint, attempt, leaseEpoch } = lease.claim
  const outcome = runs.at(-1)?.outcome?.outcome
  log.info(
    { operation: id, name: operation, attempt, leaseEpoch, outcome },
    `${recoveryPoint} -> ${reached}`,
  )
}
