// Finds our payments and refunds that match a page of the provider's records: by our id in the
// record, or by the provider's id in our row. A record that names a tenant is looked up in that
// tenant, any other one in each tenant, always by an index.
import type { Payment } from '../../domain/payments/payment.ts'
import type { Dispute } from '../../domain/payments/dispute.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import type { Sql } from '../connection/client.ts'
import { paymentFromRow, type PaymentRow } from '../payments/payments.ts'
import { disputeFromRow, type DisputeRow } from '../payments/disputes.ts'
import { refundFromRow, type RefundRow } from '../payments/refunds.ts'
import { asService } from '../connection/transaction.ts'

/** A record of the provider, and the resource that its metadata names. */
export interface ComparedId {
  readonly objectId: string
  readonly named: { readonly tenantId: string; readonly id: string } | null
}

/** The payments that name one of these records, or that one of these records names. */
export async function findPaymentsOf(
  sql: Sql,
  provider: string,
  wanted: readonly ComparedId[],
): Promise<Payment[]> {
  const rows = await asService(sql)<PaymentRow[]>`
    with ${comparedRows(sql, wanted)},
    found as (
      select payments.tenant_id, payments.id
      from wanted
      join payments on payments.tenant_id = wanted.tenant_id and payments.id = wanted.named_id
      union
      select payments.tenant_id, payments.id
      from candidates
      join payments on payments.tenant_id = candidates.tenant_id
        and payments.provider_payment_id = candidates.object_id and payments.provider = ${provider}
    )
    select payments.*
    from found
    join payments on payments.tenant_id = found.tenant_id and payments.id = found.id
    where payments.provider = ${provider}
  `
  return rows.map(paymentFromRow)
}

/** The refunds that name one of these records, or that one of these records names. */
export async function findRefundsOf(
  sql: Sql,
  provider: string,
  wanted: readonly ComparedId[],
): Promise<Refund[]> {
  const rows = await asService(sql)<RefundRow[]>`
    with ${comparedRows(sql, wanted)},
    found as (
      select refunds.tenant_id, refunds.id
      from wanted
      join refunds on refunds.tenant_id = wanted.tenant_id and refunds.id = wanted.named_id
      union
      select refunds.tenant_id, refunds.id
      from candidates
      join refunds on refunds.tenant_id = candidates.tenant_id
        and refunds.provider_refund_id = candidates.object_id
    )
    select refunds.*
    from found
    join refunds on refunds.tenant_id = found.tenant_id and refunds.id = found.id
    join payments on payments.tenant_id = refunds.tenant_id and payments.id = refunds.payment_id
    where payments.provider = ${provider}
  `
  return rows.map(refundFromRow)
}

/** The disputes that name one of these records. */
export async function findDisputesOf(
  sql: Sql,
  provider: string,
  objectIds: readonly string[],
): Promise<Dispute[]> {
  const wanted = objectIds.map((objectId) => ({ objectId, named: null }))
  const rows = await asService(sql)<DisputeRow[]>`
    with ${comparedRows(sql, wanted)}
    select disputes.*
    from candidates
    join disputes on disputes.tenant_id = candidates.tenant_id
      and disputes.provider_dispute_id = candidates.object_id
    join payments on payments.tenant_id = disputes.tenant_id and payments.id = disputes.payment_id
    where payments.provider = ${provider}
  `
  return rows.map(disputeFromRow)
}

/**
 * The parts `wanted` and `candidates` of a statement: the records, and the tenants in which to
 * look.
 */
function comparedRows(sql: Sql, wanted: readonly ComparedId[]) {
  const rows = wanted.map(({ objectId, named }) => ({
    object_id: objectId,
    tenant_id: named?.tenantId ?? null,
    named_id: named?.id ?? null,
  }))
  return sql`
    wanted as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as wanted (
        object_id text, tenant_id uuid, named_id uuid
      )
    ),
    candidates as (
      select object_id, tenant_id from wanted where tenant_id is not null
      union all
      select wanted.object_id, tenants.id from wanted cross join tenants
      where wanted.tenant_id is null
    )
  `
}

/** The ids that belong to tenants. */
export async function findTenantsAmong(sql: Sql, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await asService(sql)<{ id: string }[]>`
    select id from tenants where id = any(${[...ids]}::uuid[])
  `
  return new Set(rows.map(({ id }) => id))
}
