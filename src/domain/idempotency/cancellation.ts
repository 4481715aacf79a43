// Defines the cancellation of an idempotency key: for a client that lost the answer and wants out.
import type { LocalOperation } from '../operations/operation.ts'

/**
 * What became of the cancellation of a key. `in_progress`: the operation is under way, or its payment
 * is being canceled or refunded. `prevented`: nothing was executed, and nothing ever is under this key.
 * `undone`: the payment is canceled, or the provider has accepted refunds of all its money.
 * `nothing_to_undo`: the operation ended without effect. `refused`: what the operation did cannot be
 * undone by the service.
 */
export const cancellationStatuses = [
  'in_progress',
  'prevented',
  'undone',
  'nothing_to_undo',
  'refused',
] as const
export type CancellationStatus = (typeof cancellationStatuses)[number]

/** The operation of a key that was canceled before its request arrived. */
export const CANCEL_KEY = 'idempotency_key.cancel' satisfies LocalOperation

/** The operations whose effect a cancellation can undo: they take money. */
export const undoableOperations = ['payment.create', 'payment.capture'] as const
