// Finds our records whose end at the provider causes no movement: a look finds it when the provider's
// event was lost.
import type { Dispute } from '../../domain/payments/dispute.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import type { Sql } from '../connection/client.ts'
import { firstIdAt } from '../connection/ids.ts'
import { asTenant } from '../connection/transaction.ts'
import { disputeFromRow, type DisputeRow } from '../payments/disputes.ts'
import { refundFromRow, type RefundRow } from '../payments/refunds.ts'
import { PAGE_ROWS, tenantIds, type RunWindow } from './missing-records.ts'

/** Refunds from before the window that wait for the provider. */
export function walkWaitingRefunds(
  sql: Sql,
  run: Pick<RunWindow, 'provider' | 'from'>,
): AsyncGenerator<Refund[]> {
  return walkTenants(sql, async (tenantId, after) => {
    const rows = await asTenant(sql, tenantId)<RefundRow[]>`
      select refunds.*
      from refunds
      join payments on payments.tenant_id = refunds.tenant_id and payments.id = refunds.payment_id
      where refunds.tenant_id = ${tenantId}
        and refunds.status in ('pending', 'requires_action') and refunds.id > ${after}
        and refunds.created_at < ${run.from.toISOString()} and payments.provider = ${run.provider}
      order by refunds.id
      limit ${PAGE_ROWS}
    `
    return rows.map(refundFromRow)
  })
}

/** Disputes that are not closed. */
export function walkOpenDisputes(
  sql: Sql,
  { provider }: Pick<RunWindow, 'provider'>,
): AsyncGenerator<Dispute[]> {
  return walkTenants(sql, async (tenantId, after) => {
    const rows = await asTenant(sql, tenantId)<DisputeRow[]>`
      select disputes.*
      from disputes
      join payments
        on payments.tenant_id = disputes.tenant_id and payments.id = disputes.payment_id
      where disputes.tenant_id = ${tenantId}
        and disputes.status not in ('warning_closed', 'won', 'lost', 'prevented')
        and disputes.id > ${after} and payments.provider = ${provider}
      order by disputes.id
      limit ${PAGE_ROWS}
    `
    return rows.map(disputeFromRow)
  })
}

/** Reads the pages of each tenant, each after the last id of the page before. */
async function* walkTenants<Item extends { readonly id: string }>(
  sql: Sql,
  readAfter: (tenantId: string, after: string) => Promise<Item[]>,
): AsyncGenerator<Item[]> {
  for await (const tenantId of tenantIds(sql)) {
    let after = firstIdAt(0)
    for (;;) {
      const page = await readAfter(tenantId, after)
      const last = page.at(-1)
      if (last === undefined) break
      yield page
      after = last.id
    }
  }
}
