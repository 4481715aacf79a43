// Counts a tenant's active operations, for the limit on them.
import type { Sql } from '../connection/client.ts'
import { seesTenant } from '../connection/row-security.ts'

/**
 * The number of the tenant's operations that are pending, processing or unknown, counted up to
 * `most`.
 */
export async function countActiveKeys(sql: Sql, tenantId: string, most: number): Promise<number> {
  const [row] = await sql<{ active: number }[]>`
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
    where ${seesTenant(sql, tenantId)}
  `
  return row?.active ?? 0
}
