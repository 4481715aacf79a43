// Finds our payments, refunds and disputes that match a page of the provider's records: by our id in
// the record, or by the provider's id in our row. A record that names a tenant is looked up in that
// tenant, any other one in each tenant, always by an index.
import type { Payment } from '../../domain/payments/payment.ts'
import type { Dispute } from '../../domain/payments/dispute.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import type { Fragment, Sql } from '../connection/client.ts'
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
  const objectId = sql`entry.provider = ${provider} and entry.provider_payment_id`
  const of = { table: 'payments', objectId, paymentId: 'id' }
  return (await findCompared<PaymentRow>(sql, of, provider, wanted)).map(paymentFromRow)
}

/** The refunds that name one of these records, or that one of these records names. */
export async function findRefundsOf(
  sql: Sql,
  provider: string,
  wanted: readonly ComparedId[],
): Promise<Refund[]> {
  const objectId = sql`entry.provider_refund_id`
  const of = { table: 'refunds', objectId, paymentId: 'payment_id' }
  return (await findCompared<RefundRow>(sql, of, provider, wanted)).map(refundFromRow)
}

/** The disputes that name one of these records. */
export async function findDisputesOf(
  sql: Sql,
  provider: string,
  objectIds: readonly string[],
): Promise<Dispute[]> {
  const wanted = objectIds.map((objectId) => ({ objectId, named: null }))
  const objectId = sql`entry.provider_dispute_id`
  const of = { table: 'disputes', objectId, paymentId: 'payment_id' }
  return (await findCompared<DisputeRow>(sql, of, provider, wanted)).map(disputeFromRow)
}

interface Compared {
  readonly table: string
  /** The provider's id in the row `entry`, with the condition on which its index is by that id. */
  readonly objectId: Fragment
  /** The column with the payment, which has the provider. */
  readonly paymentId: string
}

async function findCompared<Row extends object>(
  sql: Sql,
  { table, objectId, paymentId }: Compared,
  provider: string,
  wanted: readonly ComparedId[],
): Promise<readonly Row[]> {
  const rows = wanted.map(({ objectId: object, named }) => ({ object, ...named }))
  return await asService(sql)<Row[]>`
    with wanted as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as wanted (
        object text, "tenantId" uuid, id uuid
      )
    ),
    candidates (object, tenant_id) as (
      select object, "tenantId" from wanted where "tenantId" is not null
      union all
      select wanted.object, tenants.id from wanted cross join tenants where "tenantId" is null
    ),
    found as (
      select entry.tenant_id, entry.id
      from wanted
      join ${sql(table)} as entry on entry.tenant_id = "tenantId" and entry.id = wanted.id
      union
      select entry.tenant_id, entry.id
      from candidates
      join ${sql(table)} as entry
        on entry.tenant_id = candidates.tenant_id and ${objectId} = candidates.object
    )
    select entry.*
    from found
    join ${sql(table)} as entry on entry.tenant_id = found.tenant_id and entry.id = found.id
    join payments
      on payments.tenant_id = entry.tenant_id and payments.id = entry.${sql(paymentId)}
    where payments.provider = ${provider}
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
