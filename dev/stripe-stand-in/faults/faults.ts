// Implements all faults that the stand-in can inject. A `before` fault executes nothing. An `after`
// fault executes and falsifies only the answer on the wire, so that a retry with the same
// idempotency key gets the true result. A 500 is different: Stripe keeps it as the result of the
// key, so that every retry gets it again, unless the endpoint had not begun to execute
// (https://docs.stripe.com/error-low-level). A `late` fault executes `delay_ms` later by the
// stand-in's clock, without a client that waits: Stripe's own time limits reach about 80 s, and it
// may complete the work of a 500 at any time. Deleting the rules executes it at once.
import { hang, transportFaults, type ReceivedRequest } from '../../stand-in/transport-faults.ts'
import { resetConnection, sendAnswer, type WireAnswer } from '../../stand-in/wire.ts'
import type { ApiRequest } from '../requests/api-request.ts'
import {
  keyInUse,
  lockTimeout,
  rateLimited,
  serverError,
  unavailable,
} from '../requests/stripe-errors.ts'

/** A request into which a fault is injected. While it is in flight, its idempotency key is. */
export interface FaultedRequest extends ReceivedRequest {
  request: ApiRequest
  /** Executes the request, and keeps a 500 as the result of its key. Replays what is kept. */
  executeAndFail: () => WireAnswer
  /** Executes nothing, and keeps a 500 as the result of the key. Replays what is kept. */
  fail: () => WireAnswer
  /** Keeps a 500 as the result of the key, and executes the request later. */
  failAndExecuteLate: () => WireAnswer
  /** Executes the request later. Until then its key is in flight. */
  executeLate: () => void
}

/** Injects the fault. A thrown StripeError becomes the answer. */
type Fault = (faulted: FaultedRequest) => void | Promise<void>

/** The faults, by the names that rules and payment methods use. */
export const faults = {
  ...transportFaults,
  reset_late: ({ res, executeLate }) => {
    executeLate()
    resetConnection(res)
  },
  /** Never answers, and executes only after the client has left. */
  hang_late: async (faulted) => {
    await faulted.whileInFlight(() => hang(faulted))
    faulted.executeLate()
  },
  error_500_before: ({ res, fail }) => sendAnswer(res, fail()),
  error_500_after: ({ res, executeAndFail }) => sendAnswer(res, executeAndFail()),
  error_500_late: ({ res, failAndExecuteLate }) => sendAnswer(res, failAndExecuteLate()),
  /** Answers 500 before the endpoint begins to execute: the key keeps nothing. */
  error_500_early: () => {
    throw serverError()
  },
  /** Executes and keeps a 500 like `error_500_after`, and says that a retry is of no use. */
  error_500_final: ({ res, executeAndFail }) => {
    const { headers, ...answer } = executeAndFail()
    sendAnswer(res, { ...answer, headers: { ...headers, 'Stripe-Should-Retry': 'false' } })
  },
  /** Answers 503 without executing: it never reached what keeps results. */
  unavailable: () => {
    throw unavailable()
  },
  /** Answers 429 without executing. */
  rate_limited: () => {
    throw rateLimited()
  },
  /** Answers 429 without executing, because something else holds the object. */
  lock_timeout: () => {
    throw lockTimeout()
  },
  /** Answers 409 without executing, as if another request with the same key were in flight. */
  conflict: ({ request }) => {
    throw keyInUse(request.idempotencyKey ?? '')
  },
  /** Executes the true amount, and answers with one minor unit more. */
  wrong_amount: ({ res, execute }) => {
    const answer = execute()
    sendAnswer(res, { ...answer, body: misstateAmounts(answer.body) })
  },
} as const satisfies Record<string, Fault>

export type FaultName = keyof typeof faults

/** In the order of the table above. */
export const faultNames = Object.keys(faults) as FaultName[]

const AMOUNTS = ['amount', 'amount_capturable', 'amount_received']

/** Lists and errors have no amount at the top level and stay unchanged. */
function misstateAmounts(body: string): string {
  const object = JSON.parse(body) as Record<string, unknown>
  for (const name of AMOUNTS) {
    const amount = object[name]
    if (typeof amount === 'number' && amount > 0) object[name] = amount + 1
  }
  return JSON.stringify(object)
}
