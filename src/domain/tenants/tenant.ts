// Defines tenants and the customers of the provider that they may charge.
import type { Route } from '../payments/routing.ts'
import { parseId, showId } from '../resource-id.ts'

export interface Tenant {
  readonly id: string
  readonly name: string
  readonly feeBasisPoints: number
  readonly feeFixedMinor: number
  /** Whether every new payment and refund must have a reference. */
  readonly requiresReference: boolean
  /** Its providers in their order; null: the provider of the service. */
  readonly providers: readonly Route[] | null
  readonly createdAt: Date
  readonly disabledAt: Date | null
}

export const showTenantId = (id: string): string => showId('tnt', id)
export const parseTenantId = (text: string): string | undefined => parseId('tnt', text)

/** Without control characters, because the name is printed in a table on a terminal. */
export const TENANT_NAME = /^\P{Cc}{1,200}$/u

/** A customer of the provider, by the provider's id, and the tenant that may charge it. */
export interface Customer {
  readonly id: string
  readonly tenantId: string
  readonly assignedAt: Date
}

/** Whether a text can be an id of the provider. */
export const isProviderId = (text: string): boolean => /^[\x21-\x7E]{1,255}$/.test(text)

const NAMED_MAX = 10

/** Says to which tenants customers belong, in one sentence. */
export function describeOwners(customers: readonly Pick<Customer, 'id' | 'tenantId'>[]): string {
  const named = customers
    .slice(0, NAMED_MAX)
    .map(({ id, tenantId }) => `${id} belongs to ${showTenantId(tenantId)}`)
  const others = customers.length - named.length
  return `${named.join(', ')}${others > 0 ? `, and ${others} others to other tenants` : ''}.`
}

/** The settings for which a tenant can have a value of its own. */
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
