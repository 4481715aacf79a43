// The one table of faults that the provider can commit. One named `before` executes nothing and
// keeps no result. One named `after` executes, so that a retry with the same key gets the true
// result; only the answer on the wire is spoilt.
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { ApiRequest } from './api-request.ts'
import { keyInUse, rateLimited, serverError } from './stripe-errors.ts'
import { resetConnection, sendAnswer, startAnswer, type WireAnswer } from './wire.ts'

/** A request at the mercy of a fault. */
export interface FaultedRequest {
  request: ApiRequest
  res: ServerResponse
  delayMs: number
  /** Executes the request, replays it or refuses it, and returns the true answer. */
  execute: () => WireAnswer
  /** Does something slow while the request's idempotency key is in flight. */
  whileInFlight: (work: () => Promise<void>) => Promise<void>
  refuseConnections: (milliseconds: number) => void
  /** Aborted when connections are no longer to be held. */
  released: AbortSignal
}

/** Commits the fault. A StripeError that it throws is the answer. */
type Fault = (faulted: FaultedRequest) => void | Promise<void>

/** Each fault by the name that rules and payment methods call it by. */
export const faults = {
  /**
   * Resets the connection and stops listening for `delay_ms`, so that new connections are refused
   * meanwhile. A server learns what a connection is for only once it is accepted, so the matching
   * request itself sees the reset; whatever follows it, of any client, sees the refusal.
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
  /** Never answered: the connection is held until the client leaves or the rules are deleted. */
  hang_before: async (faulted) => faulted.whileInFlight(() => hang(faulted)),
  hang_after: async (faulted) => {
    faulted.execute()
    await hang(faulted)
  },
  error_500_before: () => {
    throw serverError()
  },
  error_500_after: ({ execute }) => {
    execute()
    throw serverError()
  },
  /** 429, not executed. */
  rate_limited: () => {
    throw rateLimited()
  },
  /** 409, not executed, as if another request with the same key were in flight. */
  conflict: ({ request }) => {
    throw keyInUse(request.idempotencyKey ?? '')
  },
  /** After executing: announces the whole body, sends half of it and ends the connection. */
  truncated_body: ({ res, execute }) => {
    const body = startAnswer(res, execute())
    res.write(body.subarray(0, Math.floor(body.length / 2)), () => res.destroy())
  },
  /** After executing: 200, and a body that is not JSON. */
  nonsense_body: ({ res, execute }) => {
    execute()
    sendAnswer(res, { status: 200, body: '<html>Bad Gateway</html>' })
  },
  /** After executing the true amount: the answer names one minor unit more. */
  wrong_amount: ({ res, execute }) => {
    const answer = execute()
    sendAnswer(res, { ...answer, body: misstateAmounts(answer.body) })
  },
  /** Executes at once and answers after `delay_ms`. Until then the key is in flight. */
  delay: async ({ res, delayMs, execute, whileInFlight, released }) => {
    const answer = execute()
    await whileInFlight(() => wait(delayMs, undefined, { signal: released }))
    sendAnswer(res, answer)
  },
  /** After executing: sends the body in small pieces, spread over `delay_ms`. */
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

/** In the order of the table. */
export const faultNames = Object.keys(faults) as FaultName[]

const DRIP_INTERVAL_MS = 10

async function hang({ res, released }: FaultedRequest): Promise<void> {
  if (!res.closed) await once(res, 'close', { signal: released })
}

const AMOUNTS = ['amount', 'amount_capturable', 'amount_received']

/** Lists and errors name no amount of their own and stay as they are. */
function misstateAmounts(body: string): string {
  const object = JSON.parse(body) as Record<string, unknown>
  for (const name of AMOUNTS) {
    const amount = object[name]
    if (typeof amount === 'number' && amount > 0) object[name] = amount + 1
  }
  return JSON.stringify(object)
}
