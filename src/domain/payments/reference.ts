// The reference of a payment or refund: the client's own name of what is paid or returned, for
// example the number of an order. At most one payment of a tenant has it that can charge.

export const REFERENCE_LENGTH_MAX = 255

/**
 * The statuses of payments and refunds that have moved no money and hold none. They do not use up
 * their reference: another one may have it.
 */
export const statusesWithoutEffect = ['declined', 'canceled', 'failed'] as const

/** Visible ASCII without spaces: other text can look the same and differ in its bytes. */
export const REFERENCE = /^[\x21-\x7E]+$/
