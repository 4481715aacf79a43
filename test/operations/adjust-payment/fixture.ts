// payment.adjust, for the tests of every operation.
import type { OperationFixture } from '../fixture.ts'

export const fixture: OperationFixture = {
  startsWith: 'held',
  body: { amount: 2499 },
  otherBody: { amount: 2500 },
  executed: 'payment_intent.increment_authorization',
  path: '/v1/payment_intents/*/increment_authorization',
  status: 200,
  payment: { status: 'requires_capture', amountMinor: 2499, amountCapturedMinor: 0 },
  postings: 0,
}
