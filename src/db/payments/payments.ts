// Inserts and reads payments, and marks them as processing for intents.
import type { Failure, Payment, PaymentRequest } from '../../domain/payments/payment.ts'
import {
  isFinal,
  paymentStatuses,
  type PaymentStatus,
} from '../../domain/payments/payment-status.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { clientSecret } from '../encryption/encrypted-values.ts'
import { rowsOf } from '../connection/rows.ts'
import type { Intent, IntentDetails } from '../idempotency/intent.ts'
import {
  byIntent,
  unchanged,
  unlessDuplicate,
  type WriteResources,
} from '../idempotency/resources.ts'
import { readPage, type Page, type PageRequest } from '../connection/pages.ts'
import { asTenant, inTenant } from '../connection/transaction.ts'
import type { payments } from '../schema/payments.ts'
import type { RowOf } from '../schema/row-of.ts'

export type PaymentRow = RowOf<typeof payments>

export function paymentFromRow(row: PaymentRow): Payment {
  return {
    tenantId: row.tenant_id,
    id: row.id,
    amountMinor: row.amount_minor,
    amountCapturedMinor: row.amount_captured_minor,
    amountRefundedMinor: row.amount_refunded_minor,
    amountRefundingMinor: row.amount_refunding_minor,
    currency: row.currency,
    status: row.status,
    previousStatus: row.previous_status,
    captureMethod: row.capture_method,
    paymentMethod: row.payment_method,
    customer: row.customer,
    description: row.description,
    reference: row.reference,
    metadata: row.metadata,
    offSession: row.off_session,
    returnUrl: row.return_url,
    failure: failureFromRow(row),
    cancellationReason: row.cancellation_reason,
    captureBefore: row.capture_before ? new Date(row.capture_before) : null,
    provider: row.provider,
    providerPaymentId: row.provider_payment_id,
    // Decrypted when it is read, so that only what needs it fails if it cannot be decrypted.
    get clientSecret() {
      return clientSecret.decrypt({ tenantId: row.tenant_id, id: row.id }, row.client_secret)
    },
    createdAt: new Date(row.created_at),
  }
}

/** The reason of a decline, from the columns that payments and refunds share. */
export function failureFromRow(
  row: Pick<PaymentRow, 'failure_code' | 'failure_decline_code' | 'failure_message'>,
): Failure | null {
  if (row.failure_code === null) return null
  return {
    code: row.failure_code,
    declineCode: row.failure_decline_code,
    message: row.failure_message ?? '',
  }
}

/** What `insertPayments` reads of an intent. */
export function detailsOfPayment(payment: PaymentRequest, provider: string): IntentDetails {
  return {
    amount_minor: payment.amountMinor,
    currency: payment.currency,
    capture_method: payment.captureMethod,
    payment_method: payment.paymentMethod,
    customer: payment.customer,
    description: payment.description,
    reference: payment.reference,
    metadata: payment.metadata,
    off_session: payment.offSession ?? false,
    return_url: payment.returnUrl ?? null,
    provider,
  }
}

/**
 * Inserts the payments of intents. Saved payment methods need no check: the provider takes them only with
 * their customer.
 */
export const insertPayments: WriteResources = async (tx, tenantId, intents) => {
  const payments = intents.map(({ paymentId, details }) => ({
    tenant_id: tenantId,
    id: paymentId,
    ...details,
  }))
  const inserted = await tx<PaymentRow[]>`
    insert into payments ${rowsOf(tx, inOrderOfReference(payments))}
    on conflict do nothing
    returning *
  `
  return unlessDuplicate(intents, inserted, paymentIdOf)
}

/** All transactions lock references in one order, after the keys, so that they do not deadlock. */
export function inOrderOfReference<Row extends { readonly reference?: unknown }>(
  rows: readonly Row[],
): Row[] {
  return rows.toSorted(({ reference: one }, { reference: other }) =>
    String(one) < String(other) ? -1 : 1,
  )
}

/** Whether the payment allows an operation with these parameters, besides its status. */
export type PaymentCondition = (payment: Payment, parameters: Intent['parameters']) => boolean

/**
 * Marks the payments of intents as `processing` if they are in one of the statuses. One of several
 * concurrent operations succeeds.
 */
export function markProcessingIfIn(
  statuses: readonly PaymentStatus[],
  condition: PaymentCondition = () => true,
): WriteResources {
  return async (tx, tenantId, intents) => {
    const payments = await lockPayments(tx, tenantId, intents)
    const allowed = allowedIntents(intents, payments, statuses, condition)
    if (allowed.length === 0) return new Map()
    const marked = await tx<PaymentRow[]>`
      update payments set status = 'processing', previous_status = status, updated_at = now()
      where tenant_id = ${tenantId} and id = any(${allowed.map(paymentIdOf)}::uuid[])
      returning *
    `
    return byIntent(allowed, marked, paymentIdOf)
  }
}

/** The payments of intents, which stay as they are until the transaction ends. */
export async function lockPayments(
  tx: Transaction,
  tenantId: string,
  intents: readonly Intent[],
): Promise<PaymentRow[]> {
  return await tx<PaymentRow[]>`
    select * from payments
    where tenant_id = ${tenantId} and id = any(${intents.map(paymentIdOf)}::uuid[])
    order by id
    for no key update
  `
}

/** Finds the payments of intents if they are in one of the statuses, and leaves them as they are. */
export function selectPaymentIfIn(
  statuses: readonly PaymentStatus[],
  condition: PaymentCondition = () => true,
): WriteResources {
  return async (tx, tenantId, intents) => {
    const payments = await tx<PaymentRow[]>`
      select * from payments
      where tenant_id = ${tenantId} and id = any(${intents.map(paymentIdOf)}::uuid[])
    `
    const allowed = allowedIntents(intents, payments, statuses, condition)
    return byIntent(allowed, payments.map(unchanged), paymentIdOf)
  }
}

/**
 * Finds payments that use another payment of the provider than this one, or are final and use none, and
 * leaves them as they are.
 */
export function selectPaymentWithSurplus(providerPaymentId: string): WriteResources {
  return selectPaymentIfIn(paymentStatuses, (payment) =>
    payment.providerPaymentId === null
      ? isFinal(payment.status)
      : payment.providerPaymentId !== providerPaymentId,
  )
}

function allowedIntents(
  intents: readonly Intent[],
  rows: readonly PaymentRow[],
  statuses: readonly PaymentStatus[],
  condition: PaymentCondition,
): Intent[] {
  const payments = new Map(rows.map((row) => [row.id, row]))
  return intents.filter(({ paymentId, parameters }) => {
    const row = payments.get(paymentId)
    if (row === undefined || !statuses.includes(row.status)) return false
    return condition(paymentFromRow(row), parameters)
  })
}

const paymentIdOf = ({ paymentId }: Intent): string => paymentId

/** Finds a payment of a tenant. */
export async function findPayment(
  sql: Sql | Transaction,
  tenantId: string,
  id: string,
): Promise<Payment | undefined> {
  const [row] = await asTenant(sql, tenantId)<PaymentRow[]>`
    select * from payments
    where tenant_id = ${tenantId} and id = ${id}
  `
  return row && paymentFromRow(row)
}

/**
 * Lists a tenant's payments, or those with one reference, newest first. Undefined when none has the
 * cursor's id.
 */
export async function listPayments(
  sql: Sql,
  tenantId: string,
  { reference }: { readonly reference?: string | undefined },
  request: PageRequest,
): Promise<Page<Payment> | undefined> {
  const withReference = reference === undefined ? sql`` : sql`and reference = ${reference}`
  const list = {
    columns: sql`*`,
    entries: sql`from payments where tenant_id = ${tenantId} ${withReference}`,
    fromRow: paymentFromRow,
  }
  return await inTenant(sql, tenantId, (tx) => readPage(tx, list, request))
}
