// Reads and sets the limits that a tenant has of its own.
import {
  limitsOf,
  type LimitColumns,
  type LimitName,
  type TenantLimits,
} from '../../domain/tenants/tenant-limits.ts'
import { asTenant } from '../connection/transaction.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { changeTenant } from './tenants.ts'

/** The limits of a tenant. Undefined when there is no such tenant. */
export async function findTenantLimits(
  sql: Sql | Transaction,
  tenantId: string,
): Promise<TenantLimits | undefined> {
  const [row] = await asTenant(sql, tenantId)<LimitColumns[]>`
    select rate_limit_writes, rate_limit_reads, max_active_keys, max_stored_keys, key_length_min
    from tenants where id = ${tenantId}
  `
  return row && limitsOf(row)
}

/**
 * Changes limits, null to the setting, and returns all of the tenant. Undefined when there is no such
 * tenant. The service may change none but the least length of a key.
 */
export async function changeTenantLimits(
  sql: Sql | Transaction,
  tenantId: string,
  change: { readonly [Name in LimitName]?: number | null },
): Promise<TenantLimits | undefined> {
  const columns = Object.entries(change).map(([name, value]) => [name.toLowerCase(), value])
  await changeTenant(sql, tenantId, Object.fromEntries(columns) as Partial<LimitColumns>)
  return await findTenantLimits(sql, tenantId)
}
