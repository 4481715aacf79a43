// The operation `dispute.follow`: records where a dispute stands at the provider, and posts what it took
// and gave back. An event of the provider or the reconciliation starts the operation, but only what a
// lookup at the provider finds is recorded.
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import { resourceResponse } from '../../domain/operations/stored-response.ts'
import {
  disputePath,
  presentDispute,
  type Dispute,
  type DisputeProviderStatus,
  disputeHasMovedOn,
  writesOfDispute,
} from '../../domain/payments/dispute.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import {
  defineOperation,
  finish,
  type OperationInput,
  type Step,
} from '../../engine/define-operation.ts'
import { keepsStatus } from '../on-payment.ts'

// prettier-ignore
// recovery point  provider call            its transaction: record and advance
export const followDispute = defineOperation('dispute.follow', {
  started:    { call: 'retrieveDispute', record: recordProviderStatus }, // -> finished (200)
}, { subject, ...keepsStatus })

interface DisputeSubject {
  readonly payment: Payment
  readonly dispute: Dispute
}

function subject({ payment, dispute }: OperationInput): DisputeSubject {
  if (dispute === null) throw new Error(`a dispute of payment ${payment.id} has no row`)
  return { payment, dispute }
}

function recordProviderStatus(
  { dispute }: DisputeSubject,
  outcome: FinalOutcome<DisputeProviderStatus>,
): Step<never, never> {
  if (outcome.outcome === 'declined') throw new Error('the provider declined a read')
  const answerWith = (after: Dispute) =>
    resourceResponse(200, disputePath(dispute.id), presentDispute(after))
  if (!disputeHasMovedOn(dispute, outcome.value)) return finish(answerWith(dispute), {})
  const writes = writesOfDispute(dispute, outcome.value)
  return finish(answerWith(writes.dispute.dispute), writes)
}
