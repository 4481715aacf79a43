// Compares a movement on the provider's balance with the ledger movement of the same capture, refund or
// dispute, in amount and currency. Pure: neither ledger transactions nor movements ever change.
import { showDisputeId } from '../domain/payments/dispute.ts'
import { showPaymentId, type Payment } from '../domain/payments/payment.ts'
import { showRefundId } from '../domain/payments/refund.ts'
import { showId } from '../domain/resource-id.ts'
import type { OtherMovement, ProviderMovement } from '../provider/payment-provider.ts'
import type { Difference, Evidence, Verdict } from './judge-record.ts'
import type { LedgerMovement, MissingMovement } from './our-records.ts'

/** The provider's id of what a movement moved; null when the provider does not name it. */
export const subjectOfMovement = (movement: ProviderMovement): string | null =>
  movement.kind === 'capture'
    ? movement.providerPaymentId
    : (movement.providerDisputeId ?? movement.providerRefundId)

/**
 * @param ours the ledger movement of the payment or refund that names the provider's object,
 *   otherwise of the one that the provider's object names; undefined when there is none.
 */
export function judgeMovement(
  ours: LedgerMovement | undefined,
  movement: ProviderMovement,
): Verdict {
  const isPosted = ours !== undefined && ours.amountMinor > 0
  // The comparison of the dispute finds out whether it is ours.
  if (movement.providerDisputeId !== null && !isPosted) return 'moved_on'
  if (ours === undefined) return ['missing_here']
  const { status, objectId } = ours
  if (status === 'unknown') return 'unknown'
  // Ours names another object of the provider, to which the ledger movement belongs.
  if (objectId !== null && objectId !== subjectOfMovement(movement)) return ['missing_here']
  // A waiting payment or refund first follows the provider; only then is anything posted.
  if (MOVING.has(status)) return 'in_motion'
  if (isPosted) {
    const isSame =
      ours.amountMinor === movement.amountMinor && ours.currencies.join() === movement.currency
    return isSame ? [] : ['ledger_differs']
  }
  const isFailure = movement.kind === 'refund_failure'
  if (WAITING.has(status)) return isFailure ? 'moved_on' : 'in_motion'
  return isFailure && status === 'succeeded' ? 'moved_on' : ['missing_here']
}

const MOVING = new Set(['processing', 'requires_capture'])
const WAITING = new Set(['requires_action', 'pending'])

export const movementEvidence: Evidence<LedgerMovement, ProviderMovement> = {
  objectIdOf: ({ movementId }) => movementId,
  subjectOf: ({ tenantId, paymentId, refundId }) => ({ tenantId, paymentId, refundId }),
  describeOurs: ({ paymentId, refundId, disputeId, ...ours }) => ({
    payment: showPaymentId(paymentId),
    ...(refundId === null ? {} : { refund: showRefundId(refundId) }),
    ...(disputeId === null ? {} : { dispute: showDisputeId(disputeId) }),
    status: ours.status,
    booked: ours.amountMinor,
    currency: ours.currencies.join(', '),
  }),
  describeTheirs: (movement) => ({
    kind: movement.kind,
    amount: movement.amountMinor,
    currency: movement.currency,
    created_at: movement.createdAt.toISOString(),
    provider_payment_id: movement.providerPaymentId,
    provider_refund_id: movement.providerRefundId,
    provider_dispute_id: movement.providerDisputeId,
  }),
}

/** Of a movement of which the adapter cannot say why it happened, and the payment that it names. */
export const unknownMovementEvidence: Evidence<Payment, OtherMovement> = {
  objectIdOf: ({ movementId }) => movementId,
  subjectOf: ({ tenantId, id }) => ({ tenantId, paymentId: id }),
  describeOurs: ({ id, status }) => ({ payment: showPaymentId(id), status }),
  describeTheirs: (movement) => ({
    kind: movement.category,
    type: movement.type,
    amount: movement.amountMinor,
    currency: movement.currency,
    fee: movement.fee.amountMinor,
    created_at: movement.createdAt.toISOString(),
    source: movement.sourceId,
    provider_payment_id: movement.providerPaymentId,
  }),
}

/** A ledger transaction whose money did not move at the provider. */
export const missingMovement = (ours: MissingMovement): Difference => ({
  kind: 'missing_there',
  objectId: showId('ltx', ours.transactionId),
  subject: { tenantId: ours.tenantId, paymentId: ours.paymentId, refundId: ours.refundId },
  ours: {
    kind: ours.kind,
    amount: ours.amountMinor,
    currency: ours.currency,
    posted_at: ours.createdAt.toISOString(),
    of: ours.objectId,
  },
  theirs: null,
})
