// The operation `refund.follow`: records what became of a refund at the provider after its answer: it
// ended, or failed although it had succeeded. An event of the provider or the reconciliation starts
// the operation, but only what a lookup at the provider finds is recorded.
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import { resourceResponse } from '../../domain/operations/stored-response.ts'
import {
  presentRefund,
  refundPath,
  type Refund,
  refundHasMovedOn,
  writesOfStanding,
  type RefundProviderStatus,
} from '../../domain/payments/refund.ts'
import { defineOperation, finish, type Step } from '../../engine/define-operation.ts'
import { subject, type RefundSubject } from '../create-refund/phases.ts'
import { keepsStatus } from '../on-payment.ts'

// prettier-ignore
// recovery point  provider call           its transaction: record and advance
export const followRefund = defineOperation('refund.follow', {
  started:    { call: 'retrieveRefund', record: recordProviderStatus }, // -> finished (200)
}, { subject, ...keepsStatus })

function recordProviderStatus(
  { refund }: RefundSubject,
  outcome: FinalOutcome<RefundProviderStatus>,
): Step<never, never> {
  if (outcome.outcome === 'declined') throw new Error('the provider declined a read')
  const answerWith = (after: Refund) =>
    resourceResponse(200, refundPath(refund.id), presentRefund(after))
  if (!refundHasMovedOn(refund, outcome.value)) return finish(answerWith(refund), {})
  const writes = writesOfStanding(refund, outcome.value)
  return finish(answerWith(writes.refund), writes)
}
