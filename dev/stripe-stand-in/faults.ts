// Implements all faults that the stand-in can inject. A `before` fault executes nothing. An `after`
// fault executes and falsifies only the answer on the wire, so that a retry with the same
// idempotency key gets the true result. A 500 is different: Stripe keeps it as the result of the
// key, so that every retry gets it again, unless the endpoint had not begun to execute
// (https://docs.stripe.com/error-low-level).
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { ApiRequest } from './api-request.ts'
import { keyInUse, rateLimited, serverError, unavailable } from './stripe-errors.ts'
import { resetConnection, sendAnswer, startAnswer, type WireAnswer } from './wire.ts'

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
  /** Never answers: the connection hangs until the client closes it or the rules are deleted. */
  hang_before: async (faulted) => faulted.whileInFlight(() => hang(faulted)),
  hang_after: async (faulted) => {
    faulted.execute()
    await hang(faulted)
  },
  error_500_before: ({ res, fail }) => sendAnswer(res, fail()),
  error_500_after: ({ res, executeAndFail }) => sendAnswer(res, executeAndFail()),
  /** Answers 500 before the endpoint begins to execute: the key keeps nothing. */
  error_500_early: () => {
    throw serverError()
  },
  /** Answers 503 without executing: it never reached what keeps results. */
  unavailable: () => {
    throw unavailable()
  },
  /** Answers 429 without executing. */
  rate_limited: () => {
    throw rateLimited()
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
