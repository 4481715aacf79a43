// Compares a movement on the provider's balance with the ledger movement of the same capture or
// refund, in amount and currency. Pure: neither ledger transactions nor movements ever change.
import { showId } from '../domain/resource-id.ts'
import { showPaymentId, type Payment } from '../domain/payments/payment.ts'
import { showDisputeId } from '../domain/payments/dispute.ts'
import { showRefundId } from '../domain/payments/refund.ts'
import type { LedgerMovement, LedgerTransactionMovement } from '../db/ledger/ledger-movements.ts'
import type { OtherMovement, ProviderMovement } from '../provider/payment-provider.ts'
import {
  differsIn,
  inMotion,
  movedOn,
  outcomeUnknown,
  type Difference,
  type Verdict,
} from './verdict.ts'

/**
 * The provider's id of what a movement captured or refunded; null when the provider does not name
 * it.
 */
export function subjectOfMovement(
  movement: Pick<
    ProviderMovement,
    'kind' | 'providerPaymentId' | 'providerRefundId' | 'providerDisputeId'
  >,
): string | null {
  const { kind, providerPaymentId, providerRefundId, providerDisputeId } = movement
  return kind === 'capture' ? providerPaymentId : (providerDisputeId ?? providerRefundId)
}

/**
 * @param ours the ledger movement of the payment or refund that names the provider's object,
 *   otherwise of the one that the provider's object names; undefined when there is none.
 */
export function judgeMovement(
  ours: LedgerMovement | undefined,
  movement: ProviderMovement,
): Verdict {
  const evidence = evidenceOf(ours, movement)
  // The comparison of the dispute finds out whether it is ours.
  if (movement.providerDisputeId !== null && (ours?.amountMinor ?? 0) === 0) return movedOn
  if (ours === undefined) return differsIn(['missing_here'], evidence)
  const { status, amountMinor, currencies, objectId } = ours
  if (status === 'unknown') return outcomeUnknown
  // Ours names another object of the provider, to which the ledger movement belongs.
  if (objectId !== null && objectId !== subjectOfMovement(movement)) {
    return differsIn(['missing_here'], evidence)
  }
  // A waiting payment or refund first follows the provider; only then is anything posted.
  if (MOVING.has(status)) return inMotion
  if (amountMinor === 0 && WAITING.has(status)) {
    return movement.kind === 'refund_failure' ? movedOn : inMotion
  }
  if (amountMinor === 0 && movement.kind === 'refund_failure' && status === 'succeeded') {
    return movedOn
  }
  if (amountMinor === 0) return differsIn(['missing_here'], evidence)
  const same = amountMinor === movement.amountMinor && currencies.join() === movement.currency
  return differsIn(same ? [] : ['ledger_differs'], evidence)
}

const MOVING = new Set(['processing', 'requires_capture'])
const WAITING = new Set(['requires_action', 'pending'])

/** Judges a second movement of money that can only move once. */
export function repeatedMovement(
  ours: LedgerMovement | undefined,
  movement: ProviderMovement,
): Verdict {
  return differsIn(['ledger_differs'], evidenceOf(ours, movement))
}

/** Judges a ledger transaction whose money did not move at the provider. */
export function missingMovement(ours: LedgerTransactionMovement): Verdict {
  const { tenantId, paymentId, refundId } = ours
  return differsIn(['missing_there'], {
    objectId: showId('ltx', ours.transactionId),
    subject: { tenantId, paymentId, refundId },
    ours: {
      kind: ours.kind,
      amount: ours.amountMinor,
      currency: ours.currency,
      posted_at: ours.createdAt.toISOString(),
      of: ours.objectId,
    },
    theirs: null,
  })
}

/** Reports a movement of which the adapter cannot say why it happened. */
export function unknownMovement(movement: OtherMovement, ours: Payment | undefined): Difference {
  return {
    kind: 'unknown_movement',
    objectId: movement.movementId,
    subject: ours === undefined ? null : { tenantId: ours.tenantId, paymentId: ours.id },
    ours: ours === undefined ? null : { payment: showPaymentId(ours.id), status: ours.status },
    theirs: {
      kind: movement.category,
      type: movement.type,
      amount: movement.amountMinor,
      currency: movement.currency,
      fee: movement.fee.amountMinor,
      created_at: movement.createdAt.toISOString(),
      source: movement.sourceId,
      provider_payment_id: movement.providerPaymentId,
    },
  }
}

function evidenceOf(
  ours: LedgerMovement | undefined,
  movement: ProviderMovement,
): Omit<Difference, 'kind'> {
  return {
    objectId: movement.movementId,
    subject: ours === undefined ? null : subjectOf(ours),
    ours: ours === undefined ? null : describeOurs(ours),
    theirs: {
      kind: movement.kind,
      amount: movement.amountMinor,
      currency: movement.currency,
      created_at: movement.createdAt.toISOString(),
      provider_payment_id: movement.providerPaymentId,
      provider_refund_id: movement.providerRefundId,
      provider_dispute_id: movement.providerDisputeId,
    },
  }
}

function subjectOf({ tenantId, paymentId, refundId }: LedgerMovement) {
  return { tenantId, paymentId, refundId }
}

function describeOurs(ours: LedgerMovement): Record<string, unknown> {
  const { paymentId, refundId, disputeId, status, amountMinor, currencies } = ours
  return {
    payment: showPaymentId(paymentId),
    ...(refundId === null ? {} : { refund: showRefundId(refundId) }),
    ...(disputeId === null ? {} : { dispute: showDisputeId(disputeId) }),
    status,
    booked: amountMinor,
    currency: currencies.join(', '),
  }
}
