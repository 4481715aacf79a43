// The operation `refund.create`: gives money of a captured payment back. Its intent has reserved the
// amount, so that refunds under way never exceed the capture.
import { changeRefund } from '../db/refunds.ts'
import { entryOfRefund } from '../domain/ledger/ledger.ts'
import type { Outcome, Settled } from '../domain/operations/outcome.ts'
import type { Payment } from '../domain/payments/payment.ts'
import { presentRefund, refundAfter, refundPath, type Refund } from '../domain/payments/refund.ts'
import { resourceResponse } from '../domain/operations/stored-response.ts'
import type {
  CallIdentity,
  PaymentProvider,
  Refunding,
  Trace,
} from '../provider/payment-provider.ts'
import {
  defineOperation,
  finish,
  type OperationInput,
  type Recording,
  type Step,
} from './define-operation.ts'
import { stripeError } from './finish-operation.ts'

// prettier-ignore
// recovery point  foreign call  when its answer is lost  its transaction: record, then advance
export const createRefund = defineOperation('refund.create', {
  started:    { call: refund,    find: findRefund,        record: recordRefund },        // -> finished (201, or 402)
}, { subject, unknown: showUnknown, resumed: showProcessing, failed: showFailed, reopened: showProcessing })

interface Subject {
  readonly payment: Payment
  readonly refund: Refund
}

function subject({ payment, refund: made }: OperationInput): Subject {
  if (made === null) throw new Error(`a refund of payment ${payment.id} has no row`)
  return { payment, refund: made }
}

function refund(
  provider: PaymentProvider,
  { payment, refund: made }: Subject,
  identity: CallIdentity,
): Promise<Outcome<Refunding>> {
  return provider.refund(payment, made, identity)
}

function findRefund(
  provider: PaymentProvider,
  { payment, refund: made }: Subject,
  trace: Trace,
): Promise<Outcome<Refunding>> {
  return provider.findRefund(payment, made, trace)
}

function recordRefund({ refund: made }: Subject, settled: Settled<Refunding>): Step<never, never> {
  if (settled.outcome === 'declined') {
    const { failure } = settled
    const declined = refundAfter(made, { status: 'declined', failure })
    const extensions = { refund: presentRefund(declined), error: stripeError(failure) }
    const refusal = { type: 'refund-declined', detail: failure.message, extensions } as const
    return finish(refusal, { refund: declined })
  }
  const { providerRefundId } = settled.value
  const given = refundAfter(made, { status: 'succeeded', providerRefundId })
  const answer = resourceResponse(201, refundPath(given.id), presentRefund(given))
  return finish(answer, { refund: given, ledger: entryOfRefund(given) })
}

function showUnknown({ tx, key }: Recording, { refund: made }: Subject): Promise<Refund> {
  return changeRefund(tx, made, { status: 'unknown' }, key)
}

function showFailed({ tx, key }: Recording, { refund: made }: Subject): Promise<Refund> {
  return changeRefund(tx, made, { status: 'failed' }, key)
}

function showProcessing({ tx, key }: Recording, { refund: made }: Subject): Promise<Refund> {
  return changeRefund(tx, made, { status: 'processing' }, key)
}
