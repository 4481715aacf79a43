// Makes a payment of a tenant so old that its details are deleted.
import type { Sql } from '../../src/db/connection/client.ts'
import { deleteOld } from '../../src/recovery/prune.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
const KEPT_DAYS = 450

/** @returns how many payments lost their details. */
export async function outliveDetails(sql: Sql, tenantId: string): Promise<number> {
  await sql`
    update payments set
      created_at = now() - interval '500 days', updated_at = now() - interval '500 days'
    where tenant_id = ${tenantId}
  `
  // As the owner of the database stores it.
  await sql`
    insert into retention_periods (records, days) values ('payment_details', ${KEPT_DAYS})
    on conflict (records) do update set days = excluded.days
  `
  return await deleteOld(sql, 'payment_details', {
    before: new Date(Date.now() - KEPT_DAYS * DAY_MS),
    limit: 100,
  })
}
