// The statuses of a payment and their transitions. A CHECK constraint is generated from this table,
// and every update names the status that it leaves, so an illegal transition is impossible.

/**
 * Every status, with the statuses that may follow it.
 *
 * `processing`: an operation is working on it. `requires_action`: the cardholder must authenticate.
 * `requires_capture`: money is held. `unknown`: a provider call may have run; only the outcome
 * resolver may act. `failed`: it is proved that nothing was charged or held; a retry of the
 * creation continues it.
 */
export const paymentTransitions = {
  processing: [
    'processing',
    'requires_action',
    'requires_capture',
    'succeeded',
    'declined',
    'canceled',
    'failed',
    'unknown',
  ],
  requires_action: ['processing'],
  requires_capture: ['processing'],
  unknown: ['processing'],
  failed: ['processing'],
  succeeded: [],
  declined: [],
  canceled: [],
} as const satisfies Record<string, readonly string[]>

/** The status in which every payment and every refund begins: its intent is under way. */
export const initialStatus = 'processing'

export type PaymentStatus = keyof typeof paymentTransitions

export const paymentStatuses = Object.keys(paymentTransitions) as PaymentStatus[]

/** The statuses that `processing` may follow: those from which an operation can take a payment. */
export type StartStatus = {
  [Status in PaymentStatus]: 'processing' extends (typeof paymentTransitions)[Status][number]
    ? Status
    : never
}[PaymentStatus]

/** Whether no status can follow this one. */
export function isFinal(status: PaymentStatus): boolean {
  return paymentTransitions[status].length === 0
}

export const finalStatuses = paymentStatuses.filter((status) => isFinal(status))

/** The statuses in which a payment waits for its client, the cardholder or the provider. */
export const waitingStatuses = ['requires_capture', 'requires_action'] as const
export type WaitingStatus = (typeof waitingStatuses)[number]

/**
 * The status in which a payment waited before an operation started to work on it. When the previous
 * status is not a waiting one, the service has since learned that the money is held.
 */
export function waitingStatusBefore(
  previous: PaymentStatus | null,
): (typeof waitingStatuses)[number] {
  return previous === 'requires_action' ? previous : 'requires_capture'
}
