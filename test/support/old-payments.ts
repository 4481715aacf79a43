// Makes a payment of a tenant so old that its details are deleted.
import type { Sql } from '../../src/db/connection/client.ts'
import { deleteOldPaymentDetails } from '../../src/db/retention/old-records.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

/** @returns how many payments lost their details. */
export async function outliveDetails(sql: Sql, tenantId: string): Promise<number> {
  await sql`
    update payments set
      created_at = now() - interval '500 days', updated_at = now() - interval '500 days'
    where tenant_id = ${tenantId}
  `
  return await deleteOldPaymentDetails(sql, {
    before: new Date(Date.now() - 450 * DAY_MS),
    limit: 100,
  })
}
