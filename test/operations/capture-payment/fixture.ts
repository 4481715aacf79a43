// payment.capture, for the tests of every operation.
import type { OperationFixture } from '../fixture.ts'

export const fixture: OperationFixture = {
  startsWith: 'held',
  body: { amount: 500 },
  otherBody: { amount: 501 },
  executed: 'payment_intent.capture',
  path: '/v1/payment_intents/*/capture',
  status: 200,
  payment: { status: 'succeeded', amountCapturedMinor: 500 },
  postings: 1,
  notModelled: 'one provider call on an existing payment, as refund.create, which is modelled',
}
