// Defines tenants, and renders them for operators.
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

export function presentTenant(tenant: Tenant): Record<string, unknown> {
  return {
    id: showTenantId(tenant.id),
    object: 'tenant',
    name: tenant.name,
    fees: { basis_points: tenant.feeBasisPoints, fixed_minor: tenant.feeFixedMinor },
    requires_reference: tenant.requiresReference,
    providers: tenant.providers,
    created_at: tenant.createdAt.toISOString(),
    disabled_at: tenant.disabledAt?.toISOString() ?? null,
  }
}
