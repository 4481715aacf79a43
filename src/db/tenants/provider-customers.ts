// Assigns customers of the provider to tenants. A tenant can charge only the customers that are
// assigned to it: see `insertPayment`.
import type { Customer } from '../../domain/tenants/tenant.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { listOf, matching, type Page, type PageRequest } from '../connection/pages.ts'
import { rowsOf } from '../connection/rows.ts'

interface Assignment {
  readonly tenantId: string
  readonly provider: string
  /** The provider's ids of the customers. */
  readonly customers: readonly string[]
  /** The tenant from which customers may be taken. */
  readonly from?: string | undefined
}

/**
 * Assigns customers to a tenant. A customer that the tenant already has stays as it is, and one of
 * the tenant `from` moves. Returns those that belong to any other tenant: if there is one, the caller has
 * to roll back.
 */
export async function assignCustomers(
  tx: Transaction,
  { tenantId, provider, customers, from = tenantId }: Assignment,
): Promise<readonly Pick<Customer, 'id' | 'tenantId'>[]> {
  // Two operators lock the same rows in the same order.
  const ids = [...new Set(customers)].toSorted()
  if (ids.length === 0) return []
  const rows = ids.map((id) => ({ tenant_id: tenantId, provider, id }))
  await tx`
    insert into provider_customers ${rowsOf(tx, rows)}
    on conflict (provider, id) do update
    set tenant_id = excluded.tenant_id, assigned_at = excluded.assigned_at
    where provider_customers.tenant_id = ${from}::uuid
      and provider_customers.tenant_id <> excluded.tenant_id
  `
  return await tx<Pick<Customer, 'id' | 'tenantId'>[]>`
    select id, tenant_id as "tenantId" from provider_customers
    where provider = ${provider}
      and id = any(${[...customers]}::text[]) and tenant_id <> ${tenantId}
    order by id
  `
}

/**
 * Lists the customers of a tenant, in reverse order of their ids. Undefined when none has the
 * cursor's id.
 */
export const listCustomers = (
  sql: Sql,
  { tenantId, provider }: Pick<Assignment, 'tenantId' | 'provider'>,
  request: PageRequest,
): Promise<Page<Customer> | undefined> => {
  const columns = sql`id, tenant_id, assigned_at`
  const where = matching(sql, { provider })
  return listOf(sql, tenantId, { table: 'provider_customers', columns, where }, request)
}
