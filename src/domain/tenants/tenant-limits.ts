// Defines which settings a tenant can have a value of its own for.

export type LimitName =
  | 'RATE_LIMIT_WRITES'
  | 'RATE_LIMIT_READS'
  | 'MAX_ACTIVE_KEYS'
  | 'MAX_STORED_KEYS'
  | 'KEY_LENGTH_MIN'

/** The values that a tenant has of its own; 0 means no limit. The settings apply to the others. */
export type TenantLimits = { readonly [Name in LimitName]?: number }
