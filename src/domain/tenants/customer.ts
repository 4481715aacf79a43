// Defines the customers of the provider that a tenant may charge, and renders them for operators.
import { showTenantId } from './tenant.ts'

/** A customer of the provider, by the provider's id, and the tenant that may charge it. */
export interface Customer {
  readonly id: string
  readonly tenantId: string
  readonly assignedAt: Date
}

/** Whether a text can be an id of the provider. */
export const isProviderId = (text: string): boolean => /^[\x21-\x7E]{1,255}$/.test(text)

export function presentCustomer({ id, tenantId, assignedAt }: Customer): Record<string, unknown> {
  return {
    id,
    object: 'customer',
    tenant: showTenantId(tenantId),
    assigned_at: assignedAt.toISOString(),
  }
}

const NAMED_MAX = 10

/** Says to which tenants customers belong, in one sentence. */
export function describeOwners(customers: readonly Pick<Customer, 'id' | 'tenantId'>[]): string {
  const named = customers
    .slice(0, NAMED_MAX)
    .map(({ id, tenantId }) => `${id} belongs to ${showTenantId(tenantId)}`)
  const others = customers.length - named.length
  return `${named.join(', ')}${others > 0 ? `, and ${others} others to other tenants` : ''}.`
}
