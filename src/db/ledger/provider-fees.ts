// Posts what the provider charges us for a movement of money. The fee belongs to the operation that
// posted the movement, so that the constraint `ledger_postings_once` lets it be posted once.
import { randomUUIDv7 } from 'node:crypto'
import type { MovementKind, Posting } from '../../domain/ledger/ledger.ts'
import type { Sql } from '../connection/client.ts'
import { nextId } from '../connection/ids.ts'
import { seesTenants } from '../connection/row-security.ts'

/** The fee for a movement in the ledger. */
export interface NewProviderFee {
  readonly of: MovementKind
  readonly tenantId: string
  readonly paymentId: string
  readonly refundId: string | null
  readonly currency: string
  readonly posting: Posting
}

/** Posts the fees that are not posted yet, and returns how many these were. */
export async function insertProviderFeesIfNew(
  sql: Sql,
  fees: readonly NewProviderFee[],
): Promise<number> {
  if (fees.length === 0) return 0
  const rows = fees.map(({ of, tenantId, paymentId, refundId, currency, posting }) => ({
    id: randomUUIDv7(),
    tenant_id: tenantId,
    payment_id: paymentId,
    refund_id: refundId,
    of,
    debit: posting.debit,
    credit: posting.credit,
    amount_minor: posting.amountMinor,
    currency,
  }))
  const { count } = await sql`
    with charged as (
      select
        fee.tenant_id, fee.id, fee.payment_id, fee.refund_id, movement.operation_id, fee.debit,
        fee.credit, fee.amount_minor, fee.currency
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as fee (
        id uuid, tenant_id uuid, payment_id uuid, refund_id uuid, "of" text, debit text, credit text,
        amount_minor bigint, currency text
      )
      cross join lateral (
        select operation_id from ledger_postings as posted
        where posted.tenant_id = fee.tenant_id and posted.payment_id = fee.payment_id
          and posted.refund_id is not distinct from fee.refund_id and posted.kind = fee."of"
        limit 1
      ) as movement
    )
    insert into ledger_postings (
      tenant_id, id, transaction_id, kind, payment_id, refund_id, operation_id, debit, credit,
      amount_minor, currency
    )
    select
      tenant_id, id, ${nextId(sql, 'ledger', sql`tenant_id`)}, 'provider_fee', payment_id, refund_id,
      operation_id, debit, credit, amount_minor, currency
    from charged
    where ${seesTenants(sql, fees)}
    -- The same order for all runs, so that they do not deadlock.
    order by tenant_id, operation_id
    on conflict do nothing
  `
  return count
}
