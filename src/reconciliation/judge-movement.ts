// Compares a movement on the provider's balance with the ledger's booking of the same capture or
// refund, in amount and currency. Pure: neither ledger transactions nor movements ever change.
import { showId } from '../domain/resource-id.ts'
import { showPaymentId } from '../domain/payments/payment.ts'
import { showRefundId } from '../domain/payments/refund.ts'
import type { LedgerMovement, LedgerTransactionMovement } from '../db/ledger/ledger-movements.ts'
import type { ProviderMovement } from '../provider/payment-provider.ts'
import { differsIn, inMotion, outcomeUnknown, type Difference, type Verdict } from './verdict.ts'

/**
 * The provider's id of what a movement captured or refunded; null when the provider does not name
 * it.
 */
export function subjectOfMovement(
  movement: Pick<ProviderMovement, 'kind' | 'providerPaymentId' | 'providerRefundId'>,
): string | null {
  const { kind, providerPaymentId, providerRefundId } = movement
  return kind === 'capture' ? providerPaymentId : providerRefundId
}

/**
 * @param booked our booking of the payment or refund that names the provider's object, otherwise of
 *   the one that the provider's object names; undefined when there is none.
 */
export function judgeMovement(
  booked: LedgerMovement | undefined,
  movement: ProviderMovement,
): Verdict {
  const evidence = evidenceOf(booked, movement)
  if (booked === undefined) return differsIn(['missing_here'], evidence)
  const { status, amountMinor, currencies, objectId } = booked
  if (status === 'unknown') return outcomeUnknown
  // Ours names another object of the provider, and the booking belongs to that one.
  if (objectId !== null && objectId !== subjectOfMovement(movement)) {
    return differsIn(['missing_here'], evidence)
  }
  // A waiting payment first follows the provider; only then is anything booked.
  if (MOVING.has(status)) return inMotion
  if (amountMinor === 0) return differsIn(['missing_here'], evidence)
  const same = amountMinor === movement.amountMinor && currencies.join() === movement.currency
  return differsIn(same ? [] : ['ledger_differs'], evidence)
}

const MOVING = new Set(['processing', 'requires_action', 'requires_capture'])

/** Judges a second movement of money that can only move once. */
export function repeatedMovement(
  booked: LedgerMovement | undefined,
  movement: ProviderMovement,
): Verdict {
  return differsIn(['ledger_differs'], evidenceOf(booked, movement))
}

/** Judges a ledger transaction whose money did not move at the provider. */
export function missingMovement(booked: LedgerTransactionMovement): Verdict {
  const { tenantId, paymentId, refundId } = booked
  return differsIn(['missing_there'], {
    objectId: showId('ltx', booked.transactionId),
    subject: { tenantId, paymentId, refundId },
    ours: {
      kind: booked.kind,
      amount: booked.amountMinor,
      currency: booked.currency,
      posted_at: booked.createdAt.toISOString(),
      of: booked.objectId,
    },
    theirs: null,
  })
}

function evidenceOf(
  booked: LedgerMovement | undefined,
  movement: ProviderMovement,
): Omit<Difference, 'kind'> {
  return {
    objectId: movement.movementId,
    subject: booked === undefined ? null : subjectOf(booked),
    ours: booked === undefined ? null : describeBooked(booked),
    theirs: {
      kind: movement.kind,
      amount: movement.amountMinor,
      currency: movement.currency,
      created_at: movement.createdAt.toISOString(),
      provider_payment_id: movement.providerPaymentId,
      provider_refund_id: movement.providerRefundId,
    },
  }
}

function subjectOf({ tenantId, paymentId, refundId }: LedgerMovement) {
  return { tenantId, paymentId, refundId }
}

function describeBooked(booked: LedgerMovement): Record<string, unknown> {
  const { paymentId, refundId, status, amountMinor, currencies } = booked
  return {
    payment: showPaymentId(paymentId),
    ...(refundId === null ? {} : { refund: showRefundId(refundId) }),
    status,
    booked: amountMinor,
    currency: currencies.join(', '),
  }
}
