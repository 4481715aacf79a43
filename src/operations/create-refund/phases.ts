// The operation `refund.create`: returns money of a captured payment to the customer. The intent
// reserves the amount, so that concurrent refunds never exceed the capture.
import { changeRefund } from '../../db/payments/refunds.ts'
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import { resourceResponse, type Refusal } from '../../domain/operations/stored-response.ts'
import { presentFailure, type Failure, type Payment } from '../../domain/payments/payment.ts'
import {
  presentRefund,
  refundAfter,
  refundPath,
  type Refund,
  type RefundStatus,
  hasReturned,
  writesOfStanding,
  type RefundProviderStatus,
} from '../../domain/payments/refund.ts'
import {
  defineOperation,
  finish,
  type Marking,
  type OperationInput,
  type Step,
} from '../../engine/define-operation.ts'

// prettier-ignore
// recovery point  provider call      its transaction: record and advance
export const createRefund = defineOperation('refund.create', {
  started:    { call: 'refund',    record: recordRefund },        // -> finished (201, 402, or 409 when disputed)
}, { subject, markUnknown: mark('unknown'), markGivenUp: mark('failed'), markCanceled: mark('failed'), markResumed: mark('processing'), markReopened: mark('processing') })

export interface RefundSubject {
  readonly payment: Payment
  readonly refund: Refund
}

export function subject({ payment, refund }: OperationInput): RefundSubject {
  if (refund === null) throw new Error(`a refund of payment ${payment.id} has no row`)
  return { payment, refund }
}

function recordRefund(
  { refund }: RefundSubject,
  outcome: FinalOutcome<RefundProviderStatus>,
): Step<never, never> {
  if (outcome.outcome === 'declined') {
    const { failure } = outcome
    const declined = refundAfter(refund, { status: 'declined', failure })
    return finish(refusal(declined, failure), { refund: declined })
  }
  const writes = writesOfStanding(refund, outcome.value)
  if (hasReturned(outcome.value)) {
    const { failure = canceledAtOnce } = outcome.value
    return finish(refusal(writes.refund, failure), writes)
  }
  const answer = resourceResponse(201, refundPath(refund.id), presentRefund(writes.refund))
  return finish(answer, writes)
}

const canceledAtOnce: Failure = {
  code: 'refund_canceled',
  declineCode: null,
  message: 'The refund has been canceled.',
}

/** The provider's codes for the refund of a disputed payment. */
const DISPUTED = ['charge_disputed', 'refund_disputed_payment']

function refusal(declined: Refund, failure: Failure): Refusal {
  const [refund, detail] = [presentRefund(declined), failure.message]
  if (DISPUTED.includes(failure.code)) {
    return { type: 'charge-disputed', detail, extensions: { refund } }
  }
  const extensions = { refund, error: presentFailure(failure) }
  return { type: 'refund-declined', detail, extensions }
}

function mark(status: RefundStatus) {
  return ({ tx, key }: Marking, { refund }: RefundSubject): Promise<Refund> =>
    changeRefund(tx, refund, { status }, key)
}
