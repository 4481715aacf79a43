// Inserts and reads refunds, and reserves their amounts. Refunds together never exceed the capture: the
// payment is locked while its amount is reserved, and a CHECK enforces the same.
import type { Payment } from '../../domain/payments/payment.ts'
import type { Refund, RefundReason, RefundStatus } from '../../domain/payments/refund.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { rowsOf } from '../connection/rows.ts'
import type { Intent, IntentDetails } from '../idempotency/intent.ts'
import {
  byIntent,
  unchanged,
  unlessDuplicate,
  type WriteResources,
} from '../idempotency/resources.ts'
import { readPage, type Page, type PageRequest } from '../connection/pages.ts'
import { findDisputed } from './disputes.ts'
import { failureFromRow, inOrderOfReference, lockPayments } from './payments.ts'
import { asTenant, inTenant, together } from '../connection/transaction.ts'
import type { refunds } from '../schema/refunds.ts'
import type { RowOf } from '../schema/row-of.ts'

export type RefundRow = RowOf<typeof refunds>

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
 * Inserts the refunds of intents if enough of the capture is left, and the payment is not disputed. Each
 * reserves its amount. The payments differ.
 */
export const insertRefunds: WriteResources = async (tx, tenantId, intents) => {
  const paymentIds = intents.map(({ paymentId }) => paymentId)
  // Locked: what is left stays as it is.
  const [payments, disputed] = await together([
    lockPayments(tx, tenantId, intents),
    findDisputed(tx, tenantId, paymentIds),
  ])
  const paymentOf = new Map(payments.map((payment) => [payment.id, payment]))
  const allowed: Intent[] = []
  const refunds = []
  for (const intent of intents) {
    const payment = paymentOf.get(intent.paymentId)
    if (payment?.status !== 'succeeded' || disputed.has(payment.id)) continue
    const left =
      payment.amount_captured_minor - payment.amount_refunded_minor - payment.amount_refunding_minor
    const amount = Number(intent.details?.['amount_minor'] ?? left)
    if (amount <= 0 || amount > left) continue
    allowed.push(intent)
    refunds.push({
      tenant_id: tenantId,
      id: intent.refundId,
      payment_id: payment.id,
      currency: payment.currency,
      ...intent.details,
      amount_minor: amount,
    })
  }
  if (allowed.length === 0) return new Map()
  const inserted = await tx<RefundRow[]>`
    insert into refunds ${rowsOf(tx, inOrderOfReference(refunds))}
    on conflict do nothing
    returning *
  `
  await together(inserted.map((refund) => reserveAmount(tx, refund)))
  return unlessDuplicate(allowed, inserted, refundIdOf)
}

async function reserveAmount(
  tx: Transaction,
  { tenant_id: tenantId, payment_id: paymentId, amount_minor: amount }: RefundRow,
): Promise<void> {
  await tx`
    update payments
    set amount_refunding_minor = amount_refunding_minor + ${amount}, updated_at = now()
    where tenant_id = ${tenantId} and id = ${paymentId}
  `
}

/** Finds the refunds of intents if they are in one of the statuses, and leaves them as they are. */
export function lockRefundIfIn(statuses: readonly RefundStatus[]): WriteResources {
  return async (tx, tenantId, intents) => {
    const found = await tx<RefundRow[]>`
      select * from refunds
      where tenant_id = ${tenantId} and id = any(${intents.map(refundIdOf)}::uuid[])
      order by id
      for no key update
    `
    const allowed = found.filter(({ status }) => statuses.includes(status))
    return byIntent(intents, allowed.map(unchanged), refundIdOf)
  }
}

const refundIdOf = ({ refundId }: Intent): string | null => refundId

/** Finds a refund of a tenant. */
export async function findRefund(
  sql: Sql | Transaction,
  tenantId: string,
  id: string,
): Promise<Refund | undefined> {
  const [row] = await asTenant(sql, tenantId)<RefundRow[]>`
    select * from refunds
    where tenant_id = ${tenantId} and id = ${id}
  `
  return row && refundFromRow(row)
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
  const [row] = await asTenant(sql, tenantId)<Unreturned[]>`
    select
      (amount_captured_minor - amount_refunded_minor - amount_refunding_minor)::float8 as "leftMinor",
      exists (
        select from refunds
        where refunds.tenant_id = payments.tenant_id and refunds.payment_id = payments.id
          and refunds.status in ('processing', 'unknown')
      ) as "isRefunding"
    from payments
    where tenant_id = ${tenantId} and id = ${id}
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
    columns: sql`*`,
    entries: sql`
      from refunds where tenant_id = ${tenantId} ${ofPayment} ${withReference}
    `,
    fromRow: refundFromRow,
  }
  return await inTenant(sql, tenantId, (tx) => readPage(tx, list, request))
}
