// The engine: claims an operation and runs its atomic phases. Between two recovery points there is
// at most one provider call, repeated under one provider key, outside of any transaction. Then one transaction, fenced by lease
// epoch and recovery point, records the outcome and advances.
import { enqueueRetry, giveBackIfOwner, handOverIfOwner } from '../db/operations/leases.ts'
import { readOperationState } from '../db/operations/operation-rows.ts'
import { appendPhaseRuns } from '../db/operations/phase-runs.ts'
import { inTenant, together } from '../db/connection/transaction.ts'
import { retentionOf } from '../domain/idempotency/idempotency-key.ts'
import type { OperationRef } from '../domain/operations/operation.ts'
import { currentTraceparent, withSpan } from '../tracing/spans.ts'
import {
  callProvider,
  type CallResult,
  type FinalCall,
  type InterruptedCall,
  type OpenCall,
} from './call-provider.ts'
import type { Operation } from './define-operation.ts'
import { operationNamed, type Engine } from './engine.ts'
import { LeaseLostError, type Lease } from './lease.ts'
import { providerOf } from './phase-call.ts'
import { recordPhase } from './record-phase.ts'
import { phaseSpan, runSpan } from './spans.ts'

/**
 * How a run ended. `finished`: the response is stored. `retry`: no final outcome, to be retried
 * later. `gave_up`: out of tries, now `failed_retryable` or `unknown`. `handed_over`: this process
 * shuts down, and a new job makes another worker continue. `leased`: another worker owns the
 * lease, or will take it, and the job is tried again. `nothing_to_do`: the operation was idle already.
 * `absent`: there is no such operation, or its node has not committed it yet.
 */
export type RunResult =
  | 'finished'
  | 'retry'
  | 'gave_up'
  | 'handed_over'
  | 'leased'
  | 'nothing_to_do'
  | 'absent'

/**
 * Claims an operation and runs it as far as possible. An operation without a final outcome is
 * retried until it has been claimed `JOB_RETRY_LIMIT` + 1 times; then it is left to the client's
 * next retry or to the outcome resolver. While it is proved that the provider executes nothing, it
 * is retried for `PROVIDER_OUTAGE_SECONDS` in any case. Only a live run gives up: the job of a
 * crashed run is retried until the sweeper leaves the operation to the outcome resolver.
 *
 * @throws LeaseLostError when another owner took over; nothing was written since.
 */
export async function runOperation(engine: Engine, ref: OperationRef): Promise<RunResult> {
  return await withSpan(runSpan(ref), async (describe) => {
    const result = await claimAndRun(engine, ref)
    describe({ 'atomic.result': result })
    return result
  })
}

async function claimAndRun(engine: Engine, ref: OperationRef): Promise<RunResult> {
  const { settings, clock } = engine
  const endsAtMs = clock.monotonicMs() + settings.LEASE_MS
  const claim = await engine.claim(ref, settings.LEASE_MS)
  if (claim === undefined) return await resultOfUnclaimed(engine, ref)
  const operation = operationNamed(engine, claim.operation)
  const lease = { claim, subject: operation.subject(claim), endsAtMs }
  return await runPhases(engine, operation, lease)
}

async function resultOfUnclaimed({ store }: Engine, ref: OperationRef): Promise<RunResult> {
  const state = await readOperationState(store.sql, ref)
  if (state === undefined) return 'absent'
  const inProgress = state.status === 'processing' || state.status === 'pending'
  return inProgress ? 'leased' : 'nothing_to_do'
}

/**
 * Records the outcome of a provider call that was in doubt, and runs the operation from there as
 * far as possible.
 *
 * @param lookedUp the lease on the operation, and the lookup that found the outcome.
 * @throws LeaseLostError when another owner took over; nothing was written since.
 */
export async function runFromLookup(
  engine: Engine,
  operation: Operation,
  lookedUp: FinalCall,
): Promise<RunResult> {
  const { lease } = lookedUp
  return await withSpan(runSpan(lease.claim), () => runPhases(engine, operation, lease, lookedUp))
}

async function runPhases(
  engine: Engine,
  operation: Operation,
  start: Lease,
  lookedUp?: FinalCall,
): Promise<RunResult> {
  const { tenantId } = start.claim
  let lease = start
  let call = lookedUp
  const hasJob = lookedUp === undefined
  engine.running.add(tenantId, 1)
  try {
    for (;;) {
      const phase = runPhase.bind(undefined, engine, operation, lease, { hasJob, lookedUp: call })
      const next = await withSpan(phaseSpan(lease.claim), phase)
      if (typeof next === 'string') return next
      lease = next
      call = undefined
    }
  } finally {
    engine.running.add(tenantId, -1)
  }
}

/** Returns how the run ended, or the lease for the next phase. */
async function runPhase(
  engine: Engine,
  operation: Operation,
  lease: Lease,
  { hasJob, lookedUp }: { readonly hasJob: boolean; readonly lookedUp: FinalCall | undefined },
): Promise<RunResult | Lease> {
  const startedAtMs = engine.clock.monotonicMs()
  const call = lookedUp ?? (await callProvider(engine, operation, lease))
  if (call !== lookedUp) observeCalls(engine, call)
  if (call.kind === 'interrupted') return await handOver(engine, call)
  if (call.kind === 'open') return await giveBack(engine, operation, call, hasJob)
  const endsAtMs = engine.clock.monotonicMs() + engine.settings.LEASE_MS
  const step = await recordPhase(engine, operation, call)
  if (step === undefined) return await giveBack(engine, operation, withoutRecord(call), hasJob)
  observePhase(engine, call, startedAtMs)
  if (step.kind === 'finish') {
    engine.announceIdle(lease.claim.id)
    return 'finished'
  }
  const { claim } = call.lease
  const reached = { recoveryPoint: step.to, inDoubt: false, phaseAgeMs: 0 }
  return { claim: { ...claim, ...reached }, subject: step.subject, endsAtMs }
}

/** The outcome is final at the provider but cannot be recorded, so to us it is unknown. */
function withoutRecord({ lease }: FinalCall): OpenCall {
  const reason = 'the answer of the provider cannot be recorded'
  // Without the tries: their text may be what the database refuses.
  return { kind: 'open', lease, tries: [], inDoubt: true, reason, givesUp: true }
}

/**
 * Ends a run without a final outcome: for the next try, or, out of tries, for a retry or a lookup.
 */
async function giveBack(
  engine: Engine,
  operation: Operation,
  { lease, tries, inDoubt, reason, givesUp }: OpenCall,
  hasJob: boolean,
): Promise<RunResult> {
  const { claim, subject } = lease
  const { JOB_RETRY_LIMIT, PROVIDER_OUTAGE_SECONDS } = engine.settings
  const statusOutOfTries = inDoubt ? 'unknown' : 'failed_retryable'
  const mayWait = !inDoubt && claim.ageMs < PROVIDER_OUTAGE_SECONDS * 1_000
  const outOfTries = claim.attempt > JOB_RETRY_LIMIT && !mayWait
  const status = givesUp || outOfTries ? statusOutOfTries : 'pending'
  const checkDelaysSeconds = engine.settings.CHECK_DELAYS_SECONDS
  // Waiting beyond the limit costs no tries: the next owner may still crash, or get no answer.
  const attempts = mayWait ? Math.min(claim.attempt, JOB_RETRY_LIMIT) : claim.attempt
  await inTenant(engine.store.sql, claim.tenantId, async (tx) => {
    const [isOwner] = await together([
      giveBackIfOwner(tx, claim, {
        status,
        inDoubt,
        reason,
        attempts,
        // After a long outage the client may retry as long as after any other answer.
        ...(status === 'failed_retryable' && {
          retentionSeconds: retentionOf(engine.settings, operation.name),
        }),
        checkDelaysSeconds,
      }),
      appendPhaseRuns(tx, [{ owner: claim, tries }]),
    ])
    // Checked before the resource is marked, because a new owner may have moved the resource on.
    if (!isOwner) throw new LeaseLostError(claim)
    const marking = { tx, key: claim.key }
    if (status === 'unknown') await operation.markUnknown(marking, subject)
    if (status === 'failed_retryable') await operation.markGivenUp(marking, subject)
    if (status === 'pending' && !hasJob) await enqueueRetry(tx, claim)
  })
  engine.log.warn({ operation: claim.id, phase: claim.recoveryPoint, status, reason }, 'given back')
  engine.observe.gaveBack(status)
  if (status === 'pending') return 'retry'
  engine.announceIdle(claim.id)
  return 'gave_up'
}

/** Ends a run because its process shuts down. The operation gets a new job for the next worker. */
async function handOver(
  engine: Engine,
  { lease, tries, inDoubt }: InterruptedCall,
): Promise<RunResult> {
  const { claim } = lease
  await inTenant(engine.store.sql, claim.tenantId, async (tx) => {
    const [isOwner] = await together([
      handOverIfOwner(tx, claim, inDoubt, currentTraceparent()),
      appendPhaseRuns(tx, [{ owner: claim, tries }]),
    ])
    if (!isOwner) throw new LeaseLostError(claim)
  })
  engine.log.info({ operation: claim.id, phase: claim.recoveryPoint, inDoubt }, 'handed over')
  engine.observe.gaveBack('pending')
  return 'handed_over'
}

function observeCalls(engine: Engine, { lease, tries }: CallResult): void {
  const { operation, recoveryPoint: phase } = lease.claim
  const { name: provider } = providerOf(engine, lease.subject)
  for (const { outcome } of tries) {
    if (outcome !== undefined)
      engine.observe.called({ operation, phase, provider }, outcome.outcome)
  }
}

function observePhase(
  { observe, clock }: Engine,
  { lease }: CallResult,
  startedAtMs: number,
): void {
  const { operation, recoveryPoint: phase } = lease.claim
  observe.recorded({ operation, phase }, (clock.monotonicMs() - startedAtMs) / 1_000)
}
