// payment.adjust, for the tests of every operation.
import type { OperationFixture } from '../fixture.ts'

export const fixture: OperationFixture = {
  startsWith: 'held',
  body: { amount: 3000 },
  otherBody: { amount: 3001 },
  executed: 'payment_intent.increment_authorization',
  path: '/v1/payment_intents/*/increment_authorization',
  status: 200,
  payment: { status: 'requires_capture', amountMinor: 3000, amountCapturedMinor: 0 },
  postings: 0,
  notModelled: 'one provider call on an existing payment, as refund.create, which is modelled',
  notSimulated: 'shops of the simulation know their amounts when they pay',
}
