// Holds what moved on the provider's balance against what the ledger says of the same capture or refund,
// in amount and currency. Pure: a ledger transaction never changes, and neither does a movement.
import { showId } from '../domain/resource-id.ts'
import { showPaymentId } from '../domain/payments/payment.ts'
import { showRefundId } from '../domain/payments/refund.ts'
import type { LedgerMovement, LedgerTransactionMovement } from '../db/ledger/ledger-movements.ts'
import type { ProviderMovement } from '../provider/payment-provider.ts'
import { differsIn, inMotion, outcomeUnknown, type Difference, type Verdict } from './verdict.ts'

/** What a movement is of, as the two sides name it alike; null when the provider does not say. */
export function subjectOfMovement(
  movement: Pick<ProviderMovement, 'kind' | 'providerPaymentId' | 'providerRefundId'>,
): string | null {
  const { kind, providerPaymentId, providerRefundId } = movement
  return kind === 'capture' ? providerPaymentId : providerRefundId
}

/**
 * @param booked what we have booked of the capture or refund that names what has moved, or else of the one
 *   that is named by it; undefined when it is none of ours.
 */
export function judgeMovement(
  booked: LedgerMovement | undefined,
  movement: ProviderMovement,
): Verdict {
  const evidence = evidenceOf(booked, movement)
  if (booked === undefined) return differsIn(['missing_here'], evidence)
  const { status, amountMinor, currencies, objectId } = booked
  if (status === 'unknown') return outcomeUnknown
  // Ours names another one of the provider's, and what is booked is what that one has moved.
  if (objectId !== null && objectId !== subjectOfMovement(movement)) {
    return differsIn(['missing_here'], evidence)
  }
  // A payment that waits follows the provider before anything is booked.
  if (MOVING.has(status)) return inMotion
  if (amountMinor === 0) return differsIn(['missing_here'], evidence)
  const same = amountMinor === movement.amountMinor && currencies.join() === movement.currency
  return differsIn(same ? [] : ['ledger_differs'], evidence)
}

const MOVING = new Set(['processing', 'requires_action', 'requires_capture'])

/** A second movement of what moves only once. */
export function repeatedMovement(
  booked: LedgerMovement | undefined,
  movement: ProviderMovement,
): Verdict {
  return differsIn(['ledger_differs'], evidenceOf(booked, movement))
}

/** A transaction of the ledger whose money did not move at the provider. */
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
