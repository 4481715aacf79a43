// Defines which settings a tenant can have a value of its own for, and the largest values.

const limitNames = [
  'RATE_LIMIT_WRITES',
  'RATE_LIMIT_READS',
  'MAX_ACTIVE_KEYS',
  'MAX_STORED_KEYS',
  'KEY_LENGTH_MIN',
] as const
export type LimitName = (typeof limitNames)[number]

export const LIMIT_MAX = 1_000_000
/** Counting more keys would take seconds. */
export const STORED_KEYS_MAX = 10_000_000
export const KEY_LENGTH_MIN_MAX = 64

/** The values that a tenant has of its own; 0 means no limit. The settings apply to the others. */
export type TenantLimits = { readonly [Name in LimitName]?: number }

/** The columns with the limits of a tenant: a setting's name in lower case. */
export type LimitColumns = Readonly<Record<Lowercase<LimitName>, number | null>>

/** The limits that the tenant of a row has of its own. */
export function limitsOf(row: LimitColumns): TenantLimits {
  const limits = limitNames.map((name) => [name, row[columnOf(name)]] as const)
  return Object.fromEntries(limits.filter(([, limit]) => limit !== null))
}

const columnOf = (name: LimitName) => name.toLowerCase() as Lowercase<LimitName>
