// Says in sentences what follows from a claim about an unknown outcome, before and after a worker has
// looked, and what a resume does. Each is computed from the facts of that doubt, in this one place: the
// API, its audit trail, the console and the terminal show the same ones.
import { type Outcome, isFinalOutcome } from './outcome.ts'
import type { OperationStatus } from './operation.ts'

/** The facts of a doubt, before a lookup. */
export interface Doubt {
  readonly outcome: 'happened' | 'did_not_happen'
  /** Whether the claim is acted on even if no lookup is answered. */
  readonly unverified: boolean
  /** Of the call in doubt. */
  readonly words: CallWords
  /** Whether the provider still remembers the key of the call. */
  readonly isInKeyWindow: boolean
  /** Whether a second operator must confirm the claim. */
  readonly needsTwo: boolean
  /** Whether the configuration has one besides the reader. */
  readonly hasAnother: boolean
}

/** What follows from a claim, for each answer of the lookup. */
export interface Consequences {
  /** Why the claim is refused now; null when it is not. */
  readonly refused: string | null
  /** What is wrong afterwards if the claim is; null when the provider's answer decides. */
  readonly warning: string | null
  /** The lookup finds the call. */
  readonly found: string
  /** It does not find it. */
  readonly absent: string
  /** It is answered, and shows neither. */
  readonly unclear: string
  /** It is not answered. */
  readonly unanswered: string
}

/** How sentences speak of a provider call. */
export interface CallWords {
  /** What the provider shows when the call was executed. */
  readonly object: string
  /** What the retry of a client can do. */
  readonly retry: string
  /** What has happened if it did not only seem so. */
  readonly wrong: string
}

const NOT_ACTED_ON = 'The claim is not acted on, and the outcome stays unknown.'

/** How a retry treats a call that may have been executed. */
const IN_DOUBT =
  'A retry with the same idempotency key repeats the call under the same provider key, or looks it up first once the provider may have forgotten that key.'

/** What follows from a claim. The sentences hold for both operators. */
export function consequencesOf(doubt: Doubt): Consequences {
  const { outcome, unverified, needsTwo } = doubt
  const { object, retry, wrong } = doubt.words
  const refused = refusalOf(doubt)
  const waits = needsTwo ? ' The proposal waits on until it expires.' : ''
  if (outcome === 'happened') {
    return {
      refused,
      warning: null,
      found: `If it is the ${object} with this id, the operation goes on with it. Anything else that is found is recorded, and the claim is not acted on.`,
      absent:
        'The claim is not acted on. The outcome stays unknown, unless the lookup itself proves that the call was not executed.',
      unclear: NOT_ACTED_ON,
      unanswered: `${NOT_ACTED_ON}${waits}`,
    }
  }
  const takesEffect = unverified && doubt.isInKeyWindow
  return {
    refused,
    warning: takesEffect ? `If the claim is wrong, ${wrong}.` : null,
    found: `The ${object} is recorded, and the claim is not acted on.`,
    absent: `The client may retry, and then ${retry}.`,
    unclear: NOT_ACTED_ON,
    unanswered: takesEffect
      ? `The claim takes effect all the same: the client may retry, and then ${retry}, although nothing shows that it did not happen. ${IN_DOUBT}`
      : `${NOT_ACTED_ON}${unverified ? '' : waits}`,
  }
}

function refusalOf({ unverified, isInKeyWindow, needsTwo, hasAnother }: Doubt): string | null {
  if (unverified && !isInKeyWindow) {
    return 'The provider may have forgotten the key of the call: a claim that no lookup verifies is refused.'
  }
  return needsTwo && !hasAnother ? 'A second operator is needed, and there is none.' : null
}

/** What a worker did about a claim after its lookup. */
export interface Judged {
  readonly outcome: 'happened' | 'did_not_happen'
  readonly verdict: Verdict
  /** What the lookup found; undefined when the step makes no provider call. */
  readonly found: Outcome<unknown> | undefined
  /** Set when the call counts as not executed; whether it may have been executed nevertheless. */
  readonly absence: { readonly keepsDoubt: boolean } | undefined
}

/** What followed from a claim. */
export function effectOf({ outcome, verdict, found, absence }: Judged): string {
  if (found === undefined) {
    return 'The step makes no provider call, so it ran. The claim was not acted on.'
  }
  if (absence !== undefined) {
    return `${reasonOfAbsence(outcome, found)} The client may retry. ${
      absence.keepsDoubt
        ? `That is no proof that the call was not executed. ${IN_DOUBT}`
        : 'It is proved that the call was not executed.'
    }`
  }
  if (found.outcome === 'done' || found.outcome === 'declined') {
    return verdict === 'verified'
      ? 'The lookup verified the claim. The operation went on with what the provider shows.'
      : 'The lookup contradicted the claim. What the provider shows was recorded, and the claim was not acted on.'
  }
  const stays = 'The claim was not acted on, and the outcome stayed unknown.'
  if (!wasAnswered(found)) return `No lookup was answered. ${stays}`
  return found.outcome === 'not_executed'
    ? `The lookup found nothing, which proved nothing yet. ${stays}`
    : `The lookup was answered, and showed neither. ${stays}`
}

function reasonOfAbsence(outcome: Judged['outcome'], found: Outcome<unknown>): string {
  if (found.outcome === 'unknown') {
    return 'No lookup was answered, and the claim took effect all the same.'
  }
  return outcome === 'did_not_happen'
    ? 'The lookup found nothing, and the claim took effect.'
    : 'The lookup found nothing, and the claim was not acted on.'
}

/** The facts that decide what a resume does. */
export interface Resumed {
  readonly resumption: Resumption
  readonly status: string
  /** Whether the call of the current step may have been executed. */
  readonly inDoubt: boolean
  readonly isInKeyWindow: boolean
}

/** What resuming an operation would do now. */
export function resumeEffectOf(resumed: Resumed): string {
  switch (resumed.resumption) {
    case 'look_up':
      return 'It looks up the outcome at the provider. The lookup executes nothing. If it finds the call, the operation goes on from there.'
    case 'repeat_call':
      return 'It repeats the provider call with the same provider key. The provider still remembers the key, so nothing is executed twice.'
    case 'run':
      return 'It runs the current step, whose call cannot have run before.'
    case 'park':
      return 'It marks the outcome as unknown and looks it up, because the call may have run and the provider may have forgotten its key.'
    case 'reopen':
      return `It runs the current step again, as a retry of its client would. ${reopenedFrom(resumed)}`
    case 'nothing':
      return `Nothing: ${NOTHING[resumed.status] ?? 'a worker works on it.'}`
  }
}

function reopenedFrom({ inDoubt, isInKeyWindow }: Resumed): string {
  if (!inDoubt) return 'It is proved that the call of the step was not executed.'
  return `It is not proved that the call of the step was not executed. ${
    isInKeyWindow
      ? 'It is repeated under the same provider key, which the provider still remembers, so nothing is executed twice.'
      : 'It is looked up first, because the provider may have forgotten its key.'
  }`
}

const NOTHING: Readonly<Record<string, string>> = {
  completed: 'the operation is completed.',
  pending: 'it waits for a worker, or for its next try.',
}

// Decides what resuming an operation would do now; operators see it before they resume one. The
// rule is the same for every operation: a charge that may have happened is never repeated to find
// out.

/**
 * `look_up`: the outcome is unknown and is looked up at the provider; nothing is executed.
 * `repeat_call`: the provider call may have run; it is repeated with the same provider key, which
 * the provider still remembers. `run`: nothing of the current phase can have happened, so the phase
 * runs. `park`: the provider call may have run, and the provider may have forgotten the key; the
 * outcome becomes unknown and is looked up. `reopen`: it is proved that nothing happened; the
 * operation runs again, as on its client's retry. `nothing`: the operation is completed, or a
 * worker is working on it.
 */
export type Resumption = 'look_up' | 'repeat_call' | 'run' | 'park' | 'reopen' | 'nothing'

/** The properties of an operation that decide how it is resumed. */
export interface ResumableOperation {
  readonly status: OperationStatus
  /** The lease expired while the operation was in progress. */
  readonly leaseRanOut: boolean
  /** It is pending, but it has no job. */
  readonly jobless: boolean
  readonly inDoubt: boolean
  /** Whether the current phase makes a provider call at all. */
  readonly callsProvider: boolean
  /** How long ago the call can have been made; null when it cannot have been made. */
  readonly phaseAgeMs: number | null
}

export function resumptionOf(operation: ResumableOperation, keyWindowMs: number): Resumption {
  switch (operation.status) {
    case 'completed':
      return 'nothing'
    case 'unknown':
      return 'look_up'
    case 'failed_retryable':
      return 'reopen'
    case 'pending':
      return operation.jobless ? rerun(operation, operation.inDoubt, keyWindowMs) : 'nothing'
    case 'processing':
      // The owner may have called the provider before it crashed.
      return operation.leaseRanOut ? rerun(operation, true, keyWindowMs) : 'nothing'
  }
}

function rerun(
  { callsProvider, phaseAgeMs }: ResumableOperation,
  inDoubt: boolean,
  keyWindowMs: number,
): Resumption {
  if (!callsProvider || !inDoubt) return 'run'
  return (phaseAgeMs ?? 0) < keyWindowMs ? 'repeat_call' : 'park'
}

// Judges what an operator claimed about an unknown outcome, by the lookup that followed.

/**
 * `verified`: the provider shows what was claimed. `contradicted`: the provider shows something
 * else. `unverifiable`: the provider did not answer.
 */
export const verdicts = ['verified', 'contradicted', 'unverifiable'] as const
export type Verdict = (typeof verdicts)[number]

/** What was claimed: the provider's id of the object, or that the call did not happen. */
export type Claimed = { readonly providerId: string } | 'did_not_happen'

/**
 * A lookup that was answered and does not confirm the claim contradicts it, so that a claim is
 * never taken although the provider shows anything else.
 *
 * @param outcome what the lookup found; undefined when the phase makes no provider call.
 */
export function judgeClaim(claimed: Claimed, outcome: Outcome<unknown> | undefined): Verdict {
  if (outcome === undefined) return 'contradicted'
  if (!wasAnswered(outcome)) return 'unverifiable'
  const isConfirmed =
    claimed === 'did_not_happen'
      ? outcome.outcome === 'not_executed'
      : isFinalOutcome(outcome) && Object.values(outcome.answered).includes(claimed.providerId)
  return isConfirmed ? 'verified' : 'contradicted'
}

/** Whether the provider answered the lookup. */
export function wasAnswered({ outcome, answered }: Outcome<unknown>): boolean {
  return outcome !== 'unknown' || answered['looked'] !== false
}

/** A sentence about what the lookup showed. */
export function describeShown(outcome: Outcome<unknown> | undefined): string {
  if (outcome === undefined) return 'the step makes no provider call'
  if (outcome.outcome === 'done') return 'it happened'
  return outcome.outcome === 'declined'
    ? `it was refused: ${outcome.failure.message}`
    : outcome.reason
}
