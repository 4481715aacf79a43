// Decides whether a call counts as not executed, after a lookup that did not find it.
import type { OpenOutcome } from '../domain/operations/outcome.ts'
import { wasAnswered } from '../domain/operations/doubt-sentences.ts'
import { operationNamed, type Engine } from '../engine/engine.ts'
import { isRead, providerOf, type PhaseCall } from '../engine/phase-call.ts'
import { keepsFailures, keyWindowSeconds, settleSeconds } from '../provider/capabilities.ts'
import type { PaymentProvider } from '../provider/payment-provider.ts'
import { providerCalls } from '../provider/calls.ts'
import type { DueCheck } from './due-checks.ts'

/** Why a call counts as not executed. */
export interface Absence {
  readonly reason: string
  /**
   * Whether it may have been executed nevertheless: then a retry repeats it under the same provider
   * key, and only within the key window.
   */
  readonly keepsDoubt: boolean
}

/**
 * Undefined while nothing is concluded. Absence is proved by a lookup that does not find the call
 * after the settling time, if the provider stores our ids, and by a phase that only reads: it executes
 * nothing. See docs/decisions/0028-absence-needs-proof.md. An operator's statement (0035)
 *
 * - never overrides anything that was found;
 * - before that lets the client retry, in doubt;
 * - if no lookup was answered, needs two operators, counts only within the key window, and lets
 *   the client retry, in doubt;
 * - is needed for a call that nothing but its key guards, if the provider keeps its failure or may
 *   have forgotten the key: the provider may complete it at any time. With neither, the client may
 *   retry it in doubt, because a lost answer may have been such a failure. A provider without keys
 *   keeps no failures, so there the lookup is a proof, unless its adapter has reported a stored one.
 *
 * A worker that was frozen after its claim sends nothing any more: an outcome becomes unknown only
 * when its worker has given up the call, or its lease has expired, and an adapter sends nothing after
 * its time limit or the lease (`sendBeforeMs`). So the settling time, which counts from then, covers
 * every call. It must be longer than the time limit, because of workers that shut down.
 */
export function absenceOf(
  engine: Engine,
  check: DueCheck,
  outcome: OpenOutcome,
): Absence | undefined {
  const { evidence, failureStored } = check
  const { settings } = engine
  const { capabilities } = providerOfCheck(engine, check)
  const isStated = evidence?.proved_absent === true
  const isInWindow = check.phaseAgeMs < keyWindowSeconds(capabilities, settings) * 1_000
  if (outcome.outcome === 'unknown') {
    const isTaken = isStated && evidence.unverified === true && isInWindow && !wasAnswered(outcome)
    if (!isTaken) return undefined
    return { reason: `not looked up; did not happen according to ${evidence.by}`, keepsDoubt: true }
  }
  const isPastSettlingTime = check.unknownForSeconds >= settleSeconds(capabilities, settings)
  const isProof = isPastSettlingTime && capabilities.lookUpLagSeconds !== null
  if (isStated) {
    const reason = `not found, and did not happen according to ${evidence.by}`
    return { reason, keepsDoubt: !isProof }
  }
  if (!isProof) return undefined
  if (!mayBeCompletedLater(engine, check)) return { reason: outcome.reason, keepsDoubt: false }
  // A lost answer may have been a failure that the provider keeps.
  return !failureStored && isInWindow ? { reason: outcome.reason, keepsDoubt: true } : undefined
}

/**
 * Whether nothing but its key guards the call, and the provider may complete it at any time: because
 * it keeps failures, or because its adapter has reported that it may have kept this one.
 */
function mayBeCompletedLater(engine: Engine, check: DueCheck): boolean {
  const { capabilities } = providerOfCheck(engine, check)
  const { phases } = operationNamed(engine, check.operation)
  const isKept = check.failureStored || keepsFailures(capabilities, engine.settings)
  return isKept && isGuardedByKey(phases[check.recoveryPoint]?.call)
}

/** The provider that a check asks. */
export function providerOfCheck(engine: Engine, check: DueCheck): PaymentProvider {
  return providerOf(engine, operationNamed(engine, check.operation).subject(check))
}

/** Whether it is a call that nothing but its provider key guards. */
export function isGuardedByKey(call: PhaseCall | undefined): boolean {
  return call !== undefined && !isRead(call) && providerCalls[call].onceBy === 'key'
}
