// payment.create, for the tests of every operation. It starts with no payment.
import { AMOUNT_MINOR } from '../amount.ts'
import type { FixtureOfOperation } from '../fixture.ts'

const payment = { amount: AMOUNT_MINOR, currency: 'usd', payment_method: 'pm_card_visa' }

export const creation: Omit<FixtureOfOperation, 'startsWith'> & { readonly startsWith: 'nothing' } =
  {
    operation: 'payment.create',
    startsWith: 'nothing',
    body: payment,
    otherBody: { ...payment, amount: AMOUNT_MINOR + 1 },
    executed: 'payment_intent.create',
    path: '/v1/payment_intents',
    status: 201,
    payment: { status: 'succeeded', amountCapturedMinor: AMOUNT_MINOR },
    postings: 1,
  }
