// Counts a tenant's idempotency keys, for the limits on them.
import type { Sql } from '../connection/client.ts'
import { asTenant, inTenant } from '../connection/transaction.ts'

/**
 * The number of the tenant's operations that are pending, processing or unknown, counted up to
 * `most`.
 */
export async function countActiveKeys(sql: Sql, tenantId: string, most: number): Promise<number> {
  const [row] = await asTenant(sql, tenantId)<{ active: number }[]>`
    select count(*)::int as active from (
      (
        select from idempotency_keys
        where tenant_id = ${tenantId} and status in ('pending', 'processing')
        limit ${most}
      )
      union all
      (
        select from idempotency_keys where tenant_id = ${tenantId} and status = 'unknown'
        limit ${most}
      )
    ) as active
  `
  return row?.active ?? 0
}

/**
 * The number of all idempotency keys of a tenant, counted up to `most`. It reads as many entries of
 * an index. In a transaction it has a connection of its own, so that no other statement waits for
 * it.
 */
export async function countStoredKeys(sql: Sql, tenantId: string, most: number): Promise<number> {
  return await inTenant(sql, tenantId, async (tx) => {
    const [row] = await tx<{ stored: number }[]>`
      select count(*)::int as stored
      from (select from idempotency_keys where tenant_id = ${tenantId} limit ${most}) as stored
    `
    return row?.stored ?? 0
  })
}
