// Makes the provider call of a phase. A call without a final outcome is repeated with the same
// provider key, within the limits of tries, lease and shutdown. One that may have been
// executed is repeated only while the provider still remembers that key: never, if it keeps none.
import { recordStoredFailureIfOwner, type Claim } from '../db/operations/leases.ts'
import type { PhaseRun } from '../db/operations/phase-runs.ts'
import {
  isFinalOutcome,
  type Declined,
  type Outcome,
  type FinalOutcome,
  type NotExecuted,
} from '../domain/operations/outcome.ts'
import { keyWindowSeconds } from '../provider/capabilities.ts'
import type { LookupCriteria } from '../provider/calls.ts'
import { withSpan } from '../tracing/spans.ts'
import type { Operation } from './define-operation.ts'
import { type Engine, backoff, beforeDue } from './engine.ts'
import { coversCall, endsInTime, LeaseLostError, renewForCall, type Lease } from './lease.ts'
import {
  executeCall,
  findOutcome,
  providerOf,
  type PhaseCall,
  type PhaseSubject,
} from './phase-call.ts'
import { callSpan, checkSpan } from './spans.ts'

/**
 * @throws LeaseLostError when the lease had to be renewed and another owner has claimed the
 * operation.
 */
export async function callProvider(
  engine: Engine,
  operation: Operation,
  claimed: Lease,
): Promise<CallResult> {
  const name = operation.phases[claimed.claim.recoveryPoint]?.call
  if (name === undefined) return withoutCall(engine, claimed)
  const { inDoubt, phaseAgeMs } = claimed.claim
  if (inDoubt && isPastKeyWindow(engine, claimed, phaseAgeMs)) return keyForgotten(claimed)
  if (!endsInTime(engine)) {
    return { kind: 'interrupted', lease: claimed, tries: [], inDoubt }
  }

  if (claimed.claim.keyGeneration === 0) {
    return elsewhereIfProved(engine, operation, await tryCall(engine, name, claimed))
  }
  // The provider may have completed the call of an earlier key. Then it must not run again.
  const lookedUp = await lookUpTried(engine, { name, lease: claimed, tries: [] })
  if (lookedUp.outcome.outcome !== 'not_executed') return lookedUp.call
  const call = await tryCall(engine, name, lookedUp.call.lease)
  return { ...call, tries: [...lookedUp.call.tries, ...call.tries] }
}

/** Makes the call, and repeats it within the lease. */
async function tryCall(engine: Engine, name: PhaseCall, claimed: Lease): Promise<CallResult> {
  const lease = await renewForCall(engine, claimed)
  const provider = providerOf(engine, lease.subject)
  const callOnce = () =>
    withSpan(callSpan(lease.claim), async (describe) => {
      const identity = identityOf(lease)
      const outcome = await executeCall(provider, name, lease.subject, identity)
      describe({ 'atomic.outcome': outcome.outcome })
      return outcome
    })
  const tries: PhaseRun[] = []
  const { phaseAgeMs } = lease.claim
  const beganAtMs = engine.clock.monotonicMs()
  let { inDoubt } = lease.claim
  for (;;) {
    const startedAt = engine.clock.now()
    const outcome = (await beforeDue(engine.shutdown, neverThrows(engine, callOnce))) ?? interrupted
    const endedAt = engine.clock.now()
    tries.push({ phase: lease.claim.recoveryPoint, reached: null, outcome, startedAt, endedAt })
    if (isFinalOutcome(outcome)) {
      const mayBeExecuted = inDoubt || lease.claim.keyGeneration > 0
      if (outcome.outcome === 'declined' && mayBeExecuted) {
        return await lookUpAfterRefusal(engine, { name, lease, tries }, outcome)
      }
      return { kind: 'final', lease, tries, outcome }
    }
    inDoubt ||= outcome.outcome === 'unknown'
    const storedFailure = outcome.outcome === 'unknown' ? outcome.storedFailure : undefined
    if (storedFailure !== undefined) await recordStoredFailure(engine, lease, storedFailure)
    if (storedFailure === 'certain') {
      return await lookUpInstead(engine, { name, lease, tries }, FAILURE_STORED)
    }
    if (outcome === interrupted) return { kind: 'interrupted', lease, tries, inDoubt }
    const ageMs = phaseAgeMs + engine.clock.monotonicMs() - beganAtMs
    if (inDoubt && isPastKeyWindow(engine, lease, ageMs)) {
      return await lookUpInstead(engine, { name, lease, tries }, KEY_FORGOTTEN)
    }
    const waits = outcome.retryLater === true
    if (waits && inDoubt) return (await lookUpTried(engine, { name, lease, tries })).call
    if (!waits && tries.length < engine.settings.CALL_ATTEMPTS) {
      await beforeDue(engine.shutdown, engine.clock.sleep(backoff(engine, tries.length)))
      if (!endsInTime(engine)) return { kind: 'interrupted', lease, tries, inDoubt }
      if (coversCall(engine, lease)) continue
    }
    return { kind: 'open', lease, tries, inDoubt, reason: outcome.reason, givesUp: false }
  }
}

/**
 * At once, so that it is known after a crash or a shutdown, too.
 *
 * @throws LeaseLostError when another owner has claimed the operation.
 */
async function recordStoredFailure(
  { store }: Engine,
  { claim }: Lease,
  kept: 'possible' | 'certain',
): Promise<void> {
  const isOwner = await recordStoredFailureIfOwner(store.sql, claim, kept === 'certain')
  if (!isOwner) throw new LeaseLostError(claim)
}

/** No repetition can tell what the call did. */
const FAILURE_STORED = 'the provider failed, and keeps that as the result of this call'
/** A repetition could execute the call a second time. */
const KEY_FORGOTTEN = 'the call may have run, and the provider may not know its key'

/**
 * A call that may have been executed, and must not be repeated. If a lookup does not find it, it may
 * still be executed later.
 */
async function lookUpInstead(
  engine: Engine,
  tried: TriedCall,
  reason: string,
): Promise<CallResult> {
  const { call, outcome } = await lookUpTried(engine, tried)
  if (call.kind !== 'open' || outcome === interrupted) return call
  return { ...call, reason, givesUp: true }
}

/**
 * A refusal of a call that may have been executed before, also under an earlier provider key: the
 * refusal may be due to that. It counts only when a lookup does not find the call.
 */
async function lookUpAfterRefusal(
  engine: Engine,
  tried: TriedCall,
  refusal: Declined,
): Promise<CallResult> {
  const { call, outcome } = await lookUpTried(engine, tried)
  if (outcome.outcome !== 'not_executed') return call
  // The last try in the timeline is the one that led to the step.
  return { kind: 'final', lease: call.lease, tries: tried.tries, outcome: refusal }
}

/** A call that was made under this lease. */
interface TriedCall {
  readonly name: PhaseCall
  readonly lease: Lease
  readonly tries: readonly PhaseRun[]
}

async function lookUpTried(
  engine: Engine,
  { name, lease: held, tries }: TriedCall,
): Promise<{ readonly call: CallResult; readonly outcome: Outcome<unknown> }> {
  const lease = await renewForCall(engine, held)
  const { claim, subject } = lease
  const startedAt = engine.clock.now()
  const { payment } = subject as PhaseSubject
  const lookingUp = lookUpCall(engine, claim, name, subject, {
    operationId: claim.id,
    // The operation's own resource: it may have called before it was reopened.
    executedFrom: (claim.refund ?? claim.payment).createdAt,
    executedTo: startedAt,
    providerPaymentId: payment.providerPaymentId,
    providerRefundId: null,
  })
  const outcome = (await beforeDue(engine.shutdown, lookingUp)) ?? interrupted
  const endedAt = engine.clock.now()
  const lookup = { phase: claim.recoveryPoint, reached: null, outcome, startedAt, endedAt }
  return { call: callAfter(lease, [...tries, lookup], outcome), outcome }
}

function callAfter(
  lease: Lease,
  tries: readonly PhaseRun[],
  outcome: Outcome<unknown>,
): CallResult {
  if (isFinalOutcome(outcome)) return { kind: 'final', lease, tries, outcome }
  if (outcome === interrupted) return { kind: 'interrupted', lease, tries, inDoubt: true }
  return { kind: 'open', lease, tries, inDoubt: true, reason: outcome.reason, givesUp: false }
}

/** Looks up at the provider what a call did. Executes nothing. */
export async function lookUpCall(
  engine: Pick<Engine, 'log' | 'providers'>,
  operation: Pick<Claim, 'id' | 'operation' | 'recoveryPoint'>,
  name: PhaseCall,
  subject: unknown,
  criteria: LookupCriteria,
): Promise<Outcome<unknown>> {
  const lookUp = () =>
    withSpan(checkSpan(operation), async (describe) => {
      const outcome = await findOutcome(providerOf(engine, subject), name, subject, criteria)
      describe({ 'atomic.outcome': outcome.outcome })
      return outcome
    })
  return await neverThrows(engine, lookUp, { kind: 'look' }, { looked: false })
}

/** A call for which this process cannot wait any longer. It may have been executed, or still be. */
const interrupted: Extract<Outcome<never>, { outcome: 'unknown' }> = {
  outcome: 'unknown',
  reason: 'the worker was stopped before the answer came',
  asked: {},
  answered: { error: 'the worker was stopped before the answer came' },
}

function withoutCall({ clock }: Engine, lease: Lease): CallResult {
  const { recoveryPoint: phase } = lease.claim
  const tries = [{ phase, reached: null, outcome: undefined, startedAt: clock.now() }]
  return { kind: 'final', lease, tries, outcome: undefined }
}

/**
 * Whether a call that may have been executed can no longer be repeated, because the provider may have
 * forgotten its key, or keeps none. Repeating the call then could charge twice.
 */
function isPastKeyWindow(engine: Engine, { subject }: Lease, phaseAgeMs: number): boolean {
  const { capabilities } = providerOf(engine, subject)
  return phaseAgeMs >= keyWindowSeconds(capabilities, engine.settings) * 1_000
}

function keyForgotten(lease: Lease): CallResult {
  return { kind: 'open', lease, tries: [], inDoubt: true, reason: KEY_FORGOTTEN, givesUp: true }
}

/**
 * One provider key per phase and operation, the same for every try and every owner, until a failure
 * that the provider may keep under it is proved to have done nothing
 * (docs/decisions/0032-provider-key-generations.md). Sent only within the lease: a
 * worker that was frozen sends nothing after its successor has begun to look.
 */
function identityOf({ claim: { id, recoveryPoint, keyGeneration }, endsAtMs }: Lease) {
  const suffix = keyGeneration === 0 ? '' : `_${keyGeneration}`
  const providerKey = `atomic_${id}_${recoveryPoint}${suffix}`
  return { providerKey, operationId: id, sendBeforeMs: endsAtMs }
}

/**
 * An adapter that throws breaks its contract. The call may have been made, so the outcome is
 * `unknown`.
 */
async function neverThrows(
  { log }: Pick<Engine, 'log'>,
  call: () => Promise<Outcome<unknown>>,
  asked: Readonly<Record<string, unknown>> = { kind: 'call' },
  answered: Readonly<Record<string, unknown>> = {},
): Promise<Outcome<unknown>> {
  try {
    return await call()
  } catch (error) {
    log.error({ err: error }, 'a provider call threw')
    const reason = 'the provider adapter failed'
    return { outcome: 'unknown', reason, asked, answered: { error: reason, ...answered } }
  }
}

/** The result of a phase's provider call, with every try for the timeline. */
export type CallResult =
  | {
      readonly kind: 'final'
      readonly lease: Lease
      readonly tries: readonly PhaseRun[]
      /**
       * Undefined in a phase without a provider call. `not_executed`: the operation goes on
       * elsewhere.
       */
      readonly outcome: FinalOutcome<unknown> | NotExecuted | undefined
    }
  | {
      readonly kind: 'open'
      readonly lease: Lease
      readonly tries: readonly PhaseRun[]
      /** Whether any call of this phase may have been executed, under this or an earlier owner. */
      readonly inDoubt: boolean
      readonly reason: string
      /** Whether to give up, even if the job has retries left. */
      readonly givesUp: boolean
    }
  | InterruptedCall

export type FinalCall = Extract<CallResult, { kind: 'final' }>
export type OpenCall = Extract<CallResult, { kind: 'open' }>

/** The process shuts down, before the call ends or before it is made. Another worker continues. */
export interface InterruptedCall {
  readonly kind: 'interrupted'
  readonly lease: Lease
  readonly tries: readonly PhaseRun[]
  readonly inDoubt: boolean
}

/**
 * Whether an operation goes on elsewhere: only when each try was proved not executed, also those of
 * earlier owners, so that no call can have an effect at both places. An adapter that refuses to act
 * on one object says nothing about an earlier call on it. A process without one of the two providers
 * leaves the operation to one that has both. See docs/decisions/0063-failover-only-when-proved.md.
 */
function elsewhereIfProved(engine: Engine, { phases }: Operation, call: CallResult): CallResult {
  if (call.kind !== 'open' || call.inDoubt) return call
  const { lease, tries } = call
  const last = tries.at(-1)?.outcome
  if (last?.outcome !== 'not_executed' || last.aboutObject === true) return call
  const step = phases[lease.claim.recoveryPoint]?.elsewhere?.(lease.subject)
  if (step?.kind !== 'advance') return call
  const { all } = engine.providers
  const hasBoth = [lease.subject, step.subject].every((at) => all.includes(providerOf(engine, at)))
  return hasBoth ? { kind: 'final', lease, tries, outcome: last } : call
}
