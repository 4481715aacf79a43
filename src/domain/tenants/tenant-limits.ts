// Defines which settings a tenant can have a value of its own for, and the largest values.

export type LimitName =
  | 'RATE_LIMIT_WRITES'
  | 'RATE_LIMIT_READS'
  | 'MAX_ACTIVE_KEYS'
  | 'MAX_STORED_KEYS'
  | 'KEY_LENGTH_MIN'

export const LIMIT_MAX = 1_000_000
/** Counting more keys would take seconds. */
export const STORED_KEYS_MAX = 10_000_000
export const KEY_LENGTH_MIN_MAX = 64

/** The values that a tenant has of its own; 0 means no limit. The settings apply to the others. */
export type TenantLimits = { readonly [Name in LimitName]?: number }
