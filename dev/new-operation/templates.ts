// The files of a new operation. They compile and pass the tests of every operation as they are: until its
// author names another provider call, the operation cancels the payment.
import type { OperationNames } from './names.ts'

/** The texts by their paths from the root. */
export function filesOf(names: OperationNames): Record<string, string> {
  const folder = `src/operations/${names.folder}`
  return {
    [`${folder}/phases.ts`]: phases(names),
    [`${folder}/endpoint.ts`]: endpoint(names),
    [`${folder}/contract.ts`]: contract(names),
    [`test/operations/${names.folder}/fixture.ts`]: fixture(names),
  }
}

function phases({ operation, camel, verb }: OperationNames): string {
  return `// The operation \`${operation}\`: says here in one sentence what it does to a payment.
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import {
  paymentAfter,
  type Cancellation,
  type CancelReason,
  type Payment,
} from '../../domain/payments/payment.ts'
import { defineOperation, type OperationInput, type Step } from '../../engine/define-operation.ts'
import { onPayment } from '../on-payment.ts'
import { finishWithPayment, finishWithRefusal } from '../payment-answers.ts'

// prettier-ignore
// recovery point  provider call      its transaction: record, then advance
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
  const ${pastOf(verb)} = paymentAfter(payment, { status: 'canceled' })
  return finishWithPayment(200, ${pastOf(verb)}, { payment: ${pastOf(verb)} })
}
`
}

/** The name of the payment after the operation. */
function pastOf(verb: string): string {
  return verb.endsWith('e') ? `${verb}d` : `${verb}ed`
}

function endpoint({ camel, verb }: OperationNames): string {
  return `// POST /v1/payments/:id/${verb}
import { paymentEndpoint } from '../../http/payments/payment-endpoint.ts'
import { ${camel}Body, ${camel}Contract } from './contract.ts'
import { ${camel} } from './phases.ts'

export const ${camel}Endpoint = paymentEndpoint({
  operation: ${camel},
  path: '/v1/payments/:id/${verb}',
  contract: ${camel}Contract,
  body: ${camel}Body,
  parameters: ({ reason = null }) => ({ reason }),
})
`
}

function contract({ camel, pascal, verb }: OperationNames): string {
  return `// The contract of POST /v1/payments/:id/${verb}, and the schema of its body.
import { z } from 'zod'
import { cancelReasons } from '../../domain/payments/payment.ts'
import type { KeyedContract } from '../../http/keyed/keyed-route.ts'
import { acceptedPayment, paymentAnswer, paymentInPath } from '../../http/payments/contract.ts'

export const ${camel}Body = z.strictObject({
  reason: z.enum(cancelReasons).nullish().describe('Why, for the provider.'),
})

export const ${camel}Contract: KeyedContract = {
  operationId: '${camel}',
  tag: 'Payments',
  summary: 'Say here what it does to a payment',
  path: paymentInPath,
  keyed: 'foreign',
  body: { schema: ${camel}Body.meta({ id: '${pascal}' }), mayOmit: true },
  answers: { 200: paymentAnswer('The payment.'), 202: acceptedPayment },
  problems: ['payment-declined', 'invalid-state'],
}
`
}

function fixture({ operation }: OperationNames): string {
  return `// ${operation}, for the tests of every operation.
import type { OperationFixture } from '../fixture.ts'

export const fixture: OperationFixture = {
  startsWith: 'held',
  body: {},
  otherBody: { reason: 'duplicate' },
  executed: 'payment_intent.cancel',
  path: '/v1/payment_intents/*/cancel',
  status: 200,
  payment: { status: 'canceled', amountCapturedMinor: 0 },
  postings: 0,
}
`
}

/** The list of operations with the new one, before \`payment.follow\`, which no client begins. */
export function addToList(list: string, { camel, folder }: OperationNames): string {
  const imports = [
    `import { ${camel}Endpoint } from './${folder}/endpoint.ts'\n`,
    `import { ${camel} } from './${folder}/phases.ts'\n`,
  ].join('')
  const entry = `  { operation: ${camel}, endpoint: ${camel}Endpoint },\n`
  return list
    .replace('\ninterface Entry', `${imports}\ninterface Entry`)
    .replace('  { operation: followPayment },\n', `${entry}  { operation: followPayment },\n`)
}

/** What the author does next. */
export function nextSteps({ folder, operation }: OperationNames): string {
  return `${operation} works now, and cancels the payment at the provider. What is left to do:

1. src/operations/${folder}/phases.ts: name the provider call, and say what is recorded. The calls are the
   members of ProviderCalls in src/provider/payment-provider.ts. A new one is a member there, in the Stripe
   adapter (src/provider/stripe/stripe-provider.ts) and in the stand-in (dev/stripe-stand-in/app.ts).
   If it changes no status, read "Change no status" in docs/fork-this.md first.
2. src/operations/${folder}/contract.ts and endpoint.ts: the body, and what the operation stores of it.
3. test/operations/${folder}/fixture.ts: a body, the call in the log of the stand-in, the payment afterwards.
4. npm run openapi && npm run docs && npm run types, then
   npm test -- test/operations test/verify/every-operation test/structure test/openapi test/docs test/dev/docs
   and with a new provider call, also
   npm test -- test/provider/stripe test/dev/stripe-stand-in test/verify/faults/provider-proxy

docs/fork-this.md explains each step.
`
}
