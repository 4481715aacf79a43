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
