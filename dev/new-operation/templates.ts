// The files of a new operation. They compile and pass the tests of every operation as they are: until its
// author names another provider call, the operation cancels the payment. One that keeps the status of the
// payment calls no provider, and announces an event.
import type { OperationNames } from './names.ts'

const NOT_MODELLED = 'one provider call on an existing payment, as refund.create, which is modelled'

/** The texts by their paths from the root. With an event, of an operation that keeps the status. */
export function filesOf(names: OperationNames, event?: string): Record<string, string> {
  const folder = `src/operations/${names.folder}`
  return {
    [`${folder}/phases.ts`]: event === undefined ? phases(names) : keepingPhases(names, event),
    [`${folder}/endpoint.ts`]: endpoint(names, event),
    [`test/operations/${names.folder}/fixture.ts`]: fixture(names, event),
  }
}

function phases({ operation, camel }: OperationNames): string {
  return `// The operation \`${operation}\`: says here in one sentence what it does to a payment.
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import {
  paymentAfter,
  type Cancellation,
  type CancelReason,
  type Payment,
} from '../../domain/payments/payment.ts'
import { defineOperation, type OperationInput, type Step } from '../../engine/define-operation.ts'
import { finishWithPayment, finishWithRefusal, onPayment } from '../on-payment.ts'

// prettier-ignore
// recovery point  provider call      its transaction: record and advance
export const ${camel} = defineOperation('${operation}', {
  started:    { call: 'cancel',    record: record },              // -> finished (200, or 402)
}, onPayment({ startsFrom: ['requires_capture'], subject }))

/** The request of the provider call, and what \`record\` needs. */
interface Subject {
  readonly payment: Payment
  readonly reason: CancelReason | null
}

/** \`parameters\` is what the endpoint stored of the request. */
function subject({ payment, parameters }: OperationInput): Subject {
  const { reason } = parameters as { reason: CancelReason | null }
  return { payment, reason }
}

/** What to write once the outcome of the call is final. It reads and writes nothing itself. */
function record({ payment }: Subject, outcome: FinalOutcome<Cancellation>): Step<never, never> {
  if (outcome.outcome === 'declined') {
    const unchanged = paymentAfter(payment, { status: 'requires_capture' })
    return finishWithRefusal(unchanged, outcome.failure, { payment: unchanged })
  }
  const changed = paymentAfter(payment, { status: 'canceled' })
  return finishWithPayment(200, changed, { payment: changed })
}
`
}

function keepingPhases({ operation, camel }: OperationNames, event: string): string {
  return `// The operation \`${operation}\`: says here in one sentence what it does to a payment.
import { defineOperation, type OperationInput, type Step } from '../../engine/define-operation.ts'
import { finishWithPayment, keepsStatus, type PaymentSubject } from '../on-payment.ts'

// prettier-ignore
// recovery point  provider call      its transaction: record and advance
export const ${camel} = defineOperation('${operation}', {
  started:    {                    record: record },              // -> finished (200)
}, { startsFrom: ['requires_capture', 'succeeded'], subject, ...keepsStatus })

/** What \`record\` needs. The endpoint stores more of the request: see \`parameters\`. */
function subject({ payment }: OperationInput): PaymentSubject {
  return { payment }
}

/** The answer, and the event that is announced with it. It reads and writes nothing itself. */
function record({ payment }: PaymentSubject): Step<never, never> {
  return finishWithPayment(200, payment, { announces: '${event}' })
}
`
}

function endpoint({ camel, pascal, verb }: OperationNames, event?: string): string {
  const [why, problems] =
    event === undefined
      ? ['Why, for the provider.', "'payment-declined', 'invalid-state'"]
      : ['Why.', "'invalid-state'"]
  return `// POST /v1/payments/:id/${verb}: the schema of its body, its contract, and the endpoint.
import { z } from 'zod'
import { cancelReasons } from '../../domain/payments/payment.ts'
import { paymentAnswer } from '../../http/resources/payment.ts'
import { paymentEndpoint } from '../../http/resources/payment-endpoint.ts'
import { ${camel} } from './phases.ts'

const ${camel}Body = z.strictObject({
  reason: z.enum(cancelReasons).nullish().describe('${why}'),
})

export const ${camel}Endpoint = paymentEndpoint({
  operation: ${camel},
  path: '/v1/payments/:id/${verb}',
  contract: {
    operationId: '${camel}',
    summary: 'Say here what it does to a payment',
    body: { schema: ${camel}Body.meta({ id: '${pascal}' }), mayOmit: true },
    answers: { 200: paymentAnswer('The payment.') },
    problems: [${problems}],
  },
  parameters: ({ reason = null }) => ({ reason }),
})
`
}

function fixture({ operation }: OperationNames, event?: string): string {
  const result =
    event === undefined
      ? `executed: 'payment_intent.cancel',
  path: '/v1/payment_intents/*/cancel',
  status: 200,
  payment: { status: 'canceled', amountCapturedMinor: 0 },`
      : `announces: ['${event}'],
  status: 200,
  payment: { status: 'requires_capture' },`
  return `// ${operation}, for the tests of every operation.
import type { OperationFixture } from '../fixture.ts'

export const fixture: OperationFixture = {
  startsWith: 'held',
  body: {},
  otherBody: { reason: 'duplicate' },
  ${result}
  postings: 0,
  notModelled: '${NOT_MODELLED}',
  notSimulated: 'say here why not, or add it to verify/simulate',
}
`
}

/** The list of operations with the new one, behind the others that a client begins. */
export function addToList(list: string, { camel, folder }: OperationNames): string {
  const added = `import { ${camel}Endpoint } from './${folder}/endpoint.ts'\n`
  return list
    .replace('\n/** The POST endpoints', `${added}\n/** The POST endpoints`)
    .replace('\n]\n', `\n  ${camel}Endpoint,\n]\n`)
}

/** The list of events that change no status, with the new one. */
export function addToEvents(events: string, event: string): string {
  return events.replace(/(announcedEvents = \[[^\]]*?),?\s*\]/, `$1, '${event}']`)
}

/** What the author does next. */
export function nextSteps({ folder, operation }: OperationNames, event?: string): string {
  const [does, left] =
    event === undefined
      ? [
          'cancels the payment at the provider',
          `name the provider call, and say what is recorded. The calls are the
   members of providerCalls in src/provider/calls.ts. A new one is a member there, a file in
   src/provider/stripe/calls/, and a route of the stand-in (dev/stripe-stand-in/api-routes.ts).
   If it changes no status, begin again with --keeps-status.`,
        ]
      : [
          `announces ${event}`,
          `say from which statuses it starts, and what it stores. Read "Change no status" and
   "Two operations on one payment" in docs/fork-this.md before you add a provider call.`,
        ]
  return `${operation} works now, and ${does}. What is left to do:

1. src/operations/${folder}/phases.ts: ${left}
2. src/operations/${folder}/endpoint.ts: the body, and what the operation stores of it.
3. test/operations/${folder}/fixture.ts: a body, the call in the log of the stand-in, the payment afterwards.
4. npm run openapi && npm run docs && npm run format && npm run types && npm run lint && npm run unused, then
   npm test -- test/operations test/verify/every-operation test/verify/fuzz test/structure test/openapi test/docs test/dev/docs
   and with a new provider call, also
   npm test -- test/provider test/dev/stripe-stand-in test/http/admin extras
   and with a new member of the payment, also
   npm test -- test/migrations test/verify/statements test/http/server

docs/fork-this.md explains each step.
`
}
