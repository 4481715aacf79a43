// Inserts and reads refunds, and reserves their amounts. Refunds together never exceed the capture:
// one conditional update reserves the amount, and a CHECK enforces the same.
import type { Payment } from '../../domain/payments/payment.ts'
import type { Refund, RefundReason, RefundStatus } from '../../domain/payments/refund.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import type { IntentDetails } from '../idempotency/intent.ts'
import { readPage, type Page, type PageRequest } from '../connection/pages.ts'
import { isDisputedCondition } from './disputes.ts'
import { failureFromRow } from './payments.ts'
import { seesTenant } from '../connection/row-security.ts'

/** A row of `refunds` as `to_jsonb` renders it. */
export interface RefundRow {
  tenant_id: string
  id: string
  payment_id: string
  amount_minor: number
  currency: string
  status: RefundStatus
  reason: RefundReason | null
  reference: string | null
  metadata: Record<string, string>
  failure_code: string | null
  failure_decline_code: string | null
  failure_message: string | null
  provider_refund_id: string | null
  moved: boolean
  created_at: string
}

export function refundFromRow(row: RefundRow): Refund {
  return {
    tenantId: row.tenant_id,
    id: row.id,
    paymentId: row.payment_id,
    amountMinor: row.amount_minor,
    currency: row.currency,
    status: row.status,
    reason: row.reason,
    reference: row.reference,
    metadata: row.metadata,
    failure: failureFromRow(row),
    providerRefundId: row.provider_refund_id,
    // A version before this column did not write it.
    moved: row.moved || row.status === 'succeeded',
    createdAt: new Date(row.created_at),
  }
}

/** The refund that a client requests; without an amount, the rest of the capture. */
export interface RefundRequest {
  readonly amountMinor: number | null
  readonly reason: RefundReason | null
  readonly reference: string | null
  readonly metadata: Readonly<Record<string, string>>
}

/** What `insertRefunds` reads of an intent. */
export function detailsOfRefund({ amountMinor, ...others }: RefundRequest): IntentDetails {
  return { amount_minor: amountMinor, ...others }
}

/**
 * The part `resource` of an intent statement: inserts the refund of each operation in `reserved` if
 * enough of the capture is left, and the payment is not disputed.
 */
export function insertRefunds(sql: Sql): Fragment {
  const left = sql`amount_captured_minor - amount_refunded_minor - amount_refunding_minor`
  return sql`
    refundable as (
      select
        payments.tenant_id, payments.id,
        coalesce((asked.details ->> 'amount_minor')::bigint, ${left}) as amount_minor,
        asked.refund_id, asked.details
      from payments
      join reserved on payments.tenant_id = reserved.tenant_id and payments.id = reserved.payment_id
      join asked on asked.tenant_id = reserved.tenant_id and asked.id = reserved.id
      for no key update of payments
    ),
    reservation as (
      update payments
      set amount_refunding_minor = amount_refunding_minor + refundable.amount_minor, updated_at = now()
      from refundable
      where payments.tenant_id = refundable.tenant_id and payments.id = refundable.id
        and payments.status = 'succeeded'
        and refundable.amount_minor > 0 and refundable.amount_minor <= ${left}
        and not ${isDisputedCondition(sql)}
      returning
        payments.tenant_id, refundable.refund_id, payments.id, refundable.amount_minor,
        payments.currency, refundable.details
    ),
    resource as (
      insert into refunds (
        tenant_id, id, payment_id, amount_minor, currency, reason, reference, metadata
      )
      select
        tenant_id, refund_id, id, amount_minor, currency, details ->> 'reason',
        details ->> 'reference', details -> 'metadata'
      from reservation
      order by details ->> 'reference'
      returning *
    )
  `
}

/**
 * The part `resource` of an intent statement: the refund of the operation in `reserved`, unchanged,
 * if it is in one of the statuses.
 */
export function lockRefundIfIn(sql: Sql, statuses: readonly RefundStatus[]): Fragment {
  return sql`
    resource as (
      select
        refunds.tenant_id, refunds.id, refunds.payment_id, refunds.status,
        refunds.status as previous_status
      from refunds
      join reserved on refunds.tenant_id = reserved.tenant_id and refunds.id = reserved.refund_id
      where refunds.status = any(${[...statuses]}::text[])
      for no key update of refunds
    )
  `
}

/** Finds a refund of a tenant. */
export async function findRefund(
  sql: Sql | Transaction,
  tenantId: string,
  id: string,
): Promise<Refund | undefined> {
  const [row] = await sql<{ refund: RefundRow }[]>`
    select to_jsonb(refunds) as refund from refunds
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and id = ${id}
  `
  return row && refundFromRow(row.refund)
}

/** What is captured of a payment and not returned. */
export interface Unreturned {
  /** What no refund returns, and none reserves. */
  readonly leftMinor: number
  /** Whether a refund is under way that the provider has not accepted: it may release its amount. */
  readonly isRefunding: boolean
}

/** Finds what is left of a payment's capture, and whether that may still change, at one moment. */
export async function findUnreturned(
  sql: Sql,
  { tenantId, id }: Pick<Payment, 'tenantId' | 'id'>,
): Promise<Unreturned> {
  const [row] = await sql<Unreturned[]>`
    select
      (amount_captured_minor - amount_refunded_minor - amount_refunding_minor)::float8 as "leftMinor",
      exists (
        select from refunds
        where refunds.tenant_id = payments.tenant_id and refunds.payment_id = payments.id
          and refunds.status in ('processing', 'unknown')
      ) as "isRefunding"
    from payments
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and id = ${id}
  `
  if (row === undefined) throw new Error(`payment ${id} is gone`)
  return row
}

/**
 * Lists a tenant's refunds, or those of one payment or with one reference, newest first. Undefined
 * when none has the cursor's id.
 */
export async function listRefunds(
  sql: Sql,
  tenantId: string,
  {
    paymentId,
    reference,
  }: { readonly paymentId?: string; readonly reference?: string | undefined },
  request: PageRequest,
): Promise<Page<Refund> | undefined> {
  const ofPayment = paymentId === undefined ? sql`` : sql`and payment_id = ${paymentId}`
  const withReference = reference === undefined ? sql`` : sql`and reference = ${reference}`
  const list = {
    columns: sql`to_jsonb(refunds) as refund`,
    entries: sql`
      from refunds
      where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} ${ofPayment} ${withReference}
    `,
    fromRow: ({ refund }: { refund: RefundRow }) => refundFromRow(refund),
  }
  return await readPage(sql, list, request)
}
