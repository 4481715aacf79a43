// The faults that the stand-in can inject, under the names of the Stripe stand-in where both have one.
// Braintree keeps no results, so an `after` fault has been executed, and the next request is another
// one.
import { transportFaults, type ReceivedRequest } from '../../../../dev/stand-in/transport-faults.ts'
import { sendAnswer, type WireAnswer } from '../../../../dev/stand-in/wire.ts'
import { invalid, refusedWith } from '../requests/refusals.ts'

/** Injects the fault. A thrown Refusal becomes the answer. */
type Fault = (received: ReceivedRequest) => void | Promise<void>

const before =
  (status: number): Fault =>
  () => {
    throw refusedWith(status)
  }

const after =
  (status: number): Fault =>
  ({ execute }) => {
    execute()
    throw refusedWith(status)
  }

export const faults = {
  ...transportFaults,
  error_500_before: before(500),
  error_500_after: after(500),
  /** 503, without executing. */
  unavailable: before(503),
  /** 504: Braintree's own time is up, and the processor has executed. */
  gateway_timeout_after: after(504),
  rate_limited: before(429),
  /** An earlier call with the same key still runs. */
  key_in_flight: () => {
    throw invalid('915233')
  },
  /** The key could not be checked; nothing says whether the call ran. */
  key_server_error: () => {
    throw invalid('915235')
  },
  /** Executes, and answers with JSON that is cut off, as a proxy can. */
  malformed_json: ({ res, execute }) => {
    execute()
    sendAnswer(res, { status: 200, body: '{"transaction":', contentType: 'application/json' })
  },
  /** Executes the true amount, and answers with one minor unit more. */
  wrong_amount: ({ res, execute }) => sendAnswer(res, misstateAmounts(execute())),
} as const satisfies Record<string, Fault>

export type FaultName = keyof typeof faults

export const faultNames = Object.keys(faults) as FaultName[]

function misstateAmounts(answer: WireAnswer): WireAnswer {
  const body = answer.body.replaceAll(/(?<=<amount>)[\d.]+(?=<\/amount>)/g, (amount) => {
    const places = amount.split('.')[1]?.length ?? 0
    return ((Number(amount) * 10 ** places + 1) / 10 ** places).toFixed(places)
  })
  return { ...answer, body }
}
