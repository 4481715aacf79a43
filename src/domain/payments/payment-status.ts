// The statuses of a payment, and the one table that says which may follow which. A CHECK
// constraint is made from it, and every update names the status that it leaves: an illegal step is
// impossible and not just unlikely.

/**
 * Every status, with those that may follow it.
 *
 * `processing`: an operation works on it. `requires_action`: the holder of the card must authenticate.
 * `requires_capture`: money is held. `unknown`: a foreign call may have run, and nobody may act but the
 * reconciler. `failed`: proved that nothing was charged; a retry of its creation goes on.
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

/** Whether nothing can follow this status. */
export function isFinal(status: PaymentStatus): boolean {
  return paymentTransitions[status].length === 0
}

/** The statuses in which a payment waits for its client, its holder or the provider. */
export const waitingStatuses = ['requires_capture', 'requires_action'] as const
export type WaitingStatus = (typeof waitingStatuses)[number]

/**
 * The status in which a payment waited before an operation took it, given the one before its present
 * one. When that is neither, its money was found held meanwhile.
 */
export function waitingStatusBefore(
  previous: PaymentStatus | null,
): (typeof waitingStatuses)[number] {
  return previous === 'requires_action' ? previous : 'requires_capture'
}
