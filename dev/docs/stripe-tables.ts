// Renders the tables about Stripe: the routes, test cards and faults of its stand-in, and the rights that
// a restricted key needs.
import { stripeRights } from '../../src/provider/stripe/calls/index.ts'
import { apiRoutes } from '../stripe-stand-in/api-routes.ts'
import type { FaultName } from '../stripe-stand-in/faults/faults.ts'
import {
  paymentMethods,
  type CaptureRefusal,
  type Decline,
  type PaymentMethod,
} from '../stripe-stand-in/payment-intents/payment-methods.ts'
import { code, renderTable } from './markdown.ts'

export function renderStandInRoutes(): string {
  return apiRoutes
    .map(([method, path]) => `- ${code(`${method.toUpperCase()} ${path}`)}`)
    .join('\n')
}

/** One row for each behaviour, with all the ids that show it. */
export function renderStandInMethods(): string {
  const idsOf = new Map<string, string[]>()
  for (const method of paymentMethods) {
    const behaviour = describeMethod(method)
    idsOf.set(behaviour, [...(idsOf.get(behaviour) ?? []), code(method.id)])
  }
  const rows = [...idsOf].map(([behaviour, ids]) => [behaviour, ids.join(', ')])
  return renderTable(['what happens', 'payment methods'], rows)
}

function describeMethod(method: PaymentMethod): string {
  const { outcome, increment, refund, capture, bypassesPending, fault } = method
  const { disputes = [], fraudWarning } = method
  if (fault !== undefined) return `the fault of the same name, on the first request of each key`
  const parts = [
    describeOutcome(outcome),
    increment && `an incremental authorization is declined (${showCodes(increment)})`,
    refund && `a refund is ${code(refund.begins)}, and ${code(refund.ends)} a few seconds later`,
    capture && describeCapture(capture),
    bypassesPending && 'its money is available at once',
    ...disputes.map(({ reason, status }) => `disputed at once as ${code(reason)}, ${code(status)}`),
    fraudWarning && 'the bank warns of fraud at once',
  ]
  return parts.filter((part) => part !== undefined).join('; ')
}

function describeOutcome(outcome: PaymentMethod['outcome']): string {
  if (outcome.kind === 'approve') return 'succeeds'
  if (outcome.kind === 'decline') return `declined (${showCodes(outcome)})`
  const afterwards = outcome.afterwards && `, then declined (${showCodes(outcome.afterwards)})`
  return `needs 3-D Secure${afterwards ?? ''}`
}

const showCodes = ({ code: error, declineCode }: Decline): string =>
  [error, declineCode].flatMap((text) => (text === undefined ? [] : code(text))).join(', ')

function describeCapture({ code: error, leaves, below }: CaptureRefusal): string {
  const which = below === undefined ? 'every capture' : `a capture below ${below}`
  return `${which} is refused (${code(error)}), and leaves the payment ${leaves}`
}

/** A fault without a text here is a type error. */
const faultTexts: Readonly<Record<FaultName, string>> = {
  refuse: 'resets the connection, and refuses new ones of any client for `delay_ms`',
  reset_before: 'resets the connection; nothing is executed',
  reset_after: 'executes, and resets the connection instead of an answer',
  hang_before: 'never answers; nothing is executed, and the key stays in use while it hangs',
  hang_after: 'executes, and never answers',
  error_500_before: 'answers 500 without executing; the key keeps the 500, and replays it',
  error_500_after: 'executes and answers 500; the key keeps the 500, and replays it',
  reset_late: 'resets the connection, and executes `delay_ms` later; until then the key is in use',
  hang_late: 'never answers, and executes `delay_ms` after the client has left',
  error_500_late:
    'answers 500 and executes `delay_ms` later; the key keeps the 500, and replays it',
  error_500_early: 'answers 500 before the work begins; the key keeps nothing',
  error_500_final:
    'executes and answers 500 with `Stripe-Should-Retry: false`; the key keeps the 500, and replays it',
  unavailable: 'answers 503 without executing; the key keeps nothing',
  rate_limited: 'answers 429 without executing',
  lock_timeout:
    'answers 429 `lock_timeout` without executing, as if something else held the object',
  conflict: 'answers 409, as if a request with the same key were still running',
  truncated_body: 'executes, sends half of the answer and closes the connection',
  nonsense_body: 'executes, and answers 200 with a body that is not JSON',
  wrong_amount: 'executes the true amount, and answers with one minor unit more',
  delay: 'executes at once, and answers after `delay_ms`; until then the key is in use',
  slow_drip: 'executes, and sends the answer in small pieces over `delay_ms`',
}

export function renderStandInFaults(): string {
  const rows = Object.entries(faultTexts).map(([name, text]) => [code(name), text])
  return renderTable(['fault', 'what it does'], rows)
}

export function renderStripeRights(): string {
  return ['write', 'read'].map(renderRight).join('\n')
}

function renderRight(right: string): string {
  const resources = Object.keys(stripeRights).filter((resource) => stripeRights[resource] === right)
  return `- ${right}: ${resources.map(titleOf).toSorted().join(', ')}`
}

const titleOf = (resource: string): string =>
  resource.charAt(0).toUpperCase() + resource.slice(1).replaceAll(/[/_]/g, ' ')
