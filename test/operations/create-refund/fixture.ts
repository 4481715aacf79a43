// refund.create, for the tests of every operation.
import type { OperationFixture } from '../fixture.ts'

export const fixture: OperationFixture = {
  startsWith: 'captured',
  body: { amount: 500 },
  otherBody: { amount: 501 },
  executed: 'refund.create',
  path: '/v1/refunds',
  status: 201,
  payment: { status: 'succeeded', amountRefundedMinor: 500, amountRefundingMinor: 0 },
  postings: 2,
}
