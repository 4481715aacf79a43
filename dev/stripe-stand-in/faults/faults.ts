// Implements all faults that the stand-in can inject. A `before` fault executes nothing. An `after`
// fault executes and falsifies only the answer on the wire, so that a retry with the same
// idempotency key gets the true result. A 500 is different: Stripe keeps it as the result of the
// key, so that every retry gets it again, unless the endpoint had not begun to execute
// (https://docs.stripe.com/error-low-level). A `late` fault executes `delay_ms` later by the
// stand-in's clock, without a client that waits: Stripe's own time limits reach about 80 s, and it
// may complete the work of a 500 at any time. Deleting the rules executes it at once.
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { ApiRequest } from '../requests/api-request.ts'
import {
  keyInUse,
  lockTimeout,
  rateLimited,
  serverError,
  unavailable,
} from '../requests/stripe-errors.ts'
import { resetConnection, sendAnswer, startAnswer, type WireAnswer } from '../requests/wire.ts'

/** A request into which a fault is injected. */
export interface FaultedRequest {
  request: ApiRequest
  res: ServerResponse
  delayMs: number
  /** Executes, replays or refuses the request, and returns the true answer. */
  execute: () => WireAnswer
  /** Executes the request, and keeps a 500 as the result of its key. Replays what is kept. */
  executeAndFail: () => WireAnswer
  /** Executes nothing, and keeps a 500 as the result of the key. Replays what is kept. */
  fail: () => WireAnswer
  /** Keeps a 500 as the result of the key, and executes the request later. */
  failAndExecuteLate: () => WireAnswer
  /** Executes the request later. Until then its key is in flight. */
  executeLate: () => void
  /** Runs the work while the request's idempotency key counts as in flight. */
  whileInFlight: (work: () => Promise<void>) => Promise<void>
  refuseConnections: (milliseconds: number) => void
  /** Aborted when hanging connections must be closed. */
  released: AbortSignal
}

/** Injects the fault. A thrown StripeError becomes the answer. */
type Fault = (faulted: FaultedRequest) => void | Promise<void>

/** The faults, by the names that rules and payment methods use. */
export const faults = {
  /**
   * Resets the connection and stops listening for `delay_ms`, so that new connections are refused.
   * The server sees a request only after it accepted the connection. The matching request therefore
   * gets a reset, and all later requests, of any client, get the refusal.
   */
  refuse: ({ res, delayMs, refuseConnections }) => {
    refuseConnections(delayMs)
    resetConnection(res)
  },
  reset_before: ({ res }) => resetConnection(res),
  reset_after: ({ res, execute }) => {
    execute()
    resetConnection(res)
  },
  reset_late: ({ res, executeLate }) => {
    executeLate()
    resetConnection(res)
  },
  /** Never answers: the connection hangs until the client closes it or the rules are deleted. */
  hang_before: async (faulted) => faulted.whileInFlight(() => hang(faulted)),
  hang_after: async (faulted) => {
    faulted.execute()
    await hang(faulted)
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
  error_500_final: ({ res, executeAndFail }) =>
    sendAnswer(res, { ...executeAndFail(), headers: { 'Stripe-Should-Retry': 'false' } }),
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
  /** Executes, announces the whole body, sends half of it and closes the connection. */
  truncated_body: ({ res, execute }) => {
    const body = startAnswer(res, execute())
    res.write(body.subarray(0, Math.floor(body.length / 2)), () => res.destroy())
  },
  /** Executes, and answers 200 with a body that is not JSON. */
  nonsense_body: ({ res, execute }) => {
    execute()
    sendAnswer(res, { status: 200, body: '<html>Bad Gateway</html>' })
  },
  /** Executes the true amount, and answers with one minor unit more. */
  wrong_amount: ({ res, execute }) => {
    const answer = execute()
    sendAnswer(res, { ...answer, body: misstateAmounts(answer.body) })
  },
  /** Executes at once, and answers after `delay_ms`. Until then the key is in flight. */
  delay: async ({ res, delayMs, execute, whileInFlight, released }) => {
    const answer = execute()
    await whileInFlight(() => wait(delayMs, undefined, { signal: released }))
    sendAnswer(res, answer)
  },
  /** Executes, and sends the body in small pieces over `delay_ms`. */
  slow_drip: async ({ res, delayMs, execute, released }) => {
    const body = startAnswer(res, execute())
    const pieces = Math.min(body.length, Math.ceil(delayMs / DRIP_INTERVAL_MS))
    for (let piece = 0; piece < pieces && !res.closed; piece += 1) {
      await wait(delayMs / pieces, undefined, { signal: released })
      const [from, to] = [piece, piece + 1].map((part) => Math.floor((part * body.length) / pieces))
      res.write(body.subarray(from, to))
    }
    res.end()
  },
} as const satisfies Record<string, Fault>

export type FaultName = keyof typeof faults

/** In the order of the table above. */
export const faultNames = Object.keys(faults) as FaultName[]

const DRIP_INTERVAL_MS = 10

async function hang({ res, released }: FaultedRequest): Promise<void> {
  if (!res.closed) await once(res, 'close', { signal: released })
}

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
