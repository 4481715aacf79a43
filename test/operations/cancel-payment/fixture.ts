// payment.cancel, for the tests of every operation.
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
  notModelled: 'one provider call on an existing payment, as refund.create, which is modelled',
}
