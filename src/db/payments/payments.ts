// The statements on payments. Each update says in its predicate which status it leaves, and a CHECK
// refuses the steps that the domain's table does not have.
import {
  paymentAfter,
  type ChangedPayment,
  type Failure,
  type Payment,
  type PaymentChange,
  type PaymentRequest,
} from '../../domain/payments/payment.ts'
import { waitingStatuses, type PaymentStatus } from '../../domain/payments/payment-status.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { insertEventOfChange } from '../events/event-records.ts'
import { withoutFence } from '../operations/fence.ts'
import { readPage, type Page, type PageRequest } from '../connection/pages.ts'
import { seesTenant } from '../connection/row-security.ts'

/** A row of `payments` as `to_jsonb` renders it. */
export interface PaymentRow {
  tenant_id: string
  id: string
  amount_minor: number
  amount_captured_minor: number
  amount_refunded_minor: number
  amount_refunding_minor: number
  currency: string
  status: PaymentStatus
  previous_status: PaymentStatus | null
  capture_method: Payment['captureMethod']
  payment_method: string
  customer: string | null
  description: string | null
  metadata: Record<string, string>
  failure_code: string | null
  failure_decline_code: string | null
  failure_message: string | null
  provider: string
  provider_payment_id: string | null
  client_secret: string | null
  created_at: string
}

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
    metadata: row.metadata,
    failure: failureFromRow(row),
    provider: row.provider,
    providerPaymentId: row.provider_payment_id,
    clientSecret: row.client_secret,
    createdAt: new Date(row.created_at),
  }
}

/** Why something was declined, from the columns that payments and refunds have in common. */
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

/** The part `resource` of an intent statement: the new payment of the operation in `reserved`. */
export function insertPayment(sql: Sql, payment: PaymentRequest, provider: string): Fragment {
  return sql`
    resource as (
      insert into payments (
        tenant_id, id, amount_minor, currency, capture_method, payment_method, customer,
        description, metadata, provider
      )
      select
        reserved.tenant_id, reserved.payment_id, ${payment.amountMinor}::bigint,
        ${payment.currency}::text, ${payment.captureMethod}::text, ${payment.paymentMethod}::text,
        ${payment.customer}::text, ${payment.description}::text,
        ${JSON.stringify(payment.metadata)}::jsonb, ${provider}::text
      from reserved
      returning *
    )
  `
}

/**
 * The part `resource` of an intent statement: the payment of the operation in `reserved`, marked as
 * `processing` if it is in one of the statuses. Of operations that race for a payment, one finds it so.
 *
 * @param condition what else must be true of the row of `payments`.
 */
export function markProcessingIfIn(
  sql: Sql,
  statuses: readonly PaymentStatus[],
  condition: Fragment = sql`true`,
): Fragment {
  return sql`
    resource as (
      update payments set
        status = 'processing', previous_status = payments.status, updated_at = now()
      from reserved
      where payments.tenant_id = reserved.tenant_id and payments.id = reserved.payment_id
        and payments.status = any(${[...statuses]}::text[]) and ${condition}
      returning payments.*
    )
  `
}

export async function findPayment(
  sql: Sql | Transaction,
  tenantId: string,
  id: string,
): Promise<Payment | undefined> {
  const [row] = await sql<{ payment: PaymentRow }[]>`
    select to_jsonb(payments) as payment
    from payments
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and id = ${id}
  `
  return row && paymentFromRow(row.payment)
}

/** A tenant's payments, newest first. Undefined when the cursor names none of them. */
export async function listPayments(
  sql: Sql,
  tenantId: string,
  request: PageRequest,
): Promise<Page<Payment> | undefined> {
  const list = {
    columns: sql`to_jsonb(payments) as payment`,
    entries: sql`from payments where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId}`,
    fromRow: ({ payment }: { payment: PaymentRow }) => paymentFromRow(payment),
  }
  return await readPage(sql, list, request)
}

/**
 * Changes a payment that is still in the status it was read with, and records the event.
 *
 * @throws StaleResourceError when it is in another one, and nothing is written.
 */
export async function changePayment(
  tx: Transaction,
  payment: Payment,
  change: PaymentChange,
  idempotencyKey: string,
): Promise<Payment> {
  const changed = paymentAfter(payment, change)
  const { count } = await tx`
    with ${withoutFence(tx)},
    ${changePaymentIfOwner(tx, changed, idempotencyKey)}
    select from changed where ${seesTenant(tx, payment.tenantId)}
  `
  if (count === 0) throw new StaleResourceError(`payment ${payment.id}`, payment.status)
  return changed
}

/**
 * The part `changed` of a statement, with those of its event: the payment as its change leaves it, if
 * the CTE `fenced` is not empty and the payment is still in the status before. When the status stays as
 * it is there is no event, and the parts that would find none are not paid for.
 */
export function changePaymentIfOwner(
  sql: Sql | Transaction,
  payment: ChangedPayment,
  idempotencyKey: string,
): Fragment {
  const event = insertEventOfChange(sql, { cte: 'changed', kind: 'payment' }, idempotencyKey)
  const columns = Object.values(changedColumns(sql, payment))
  return sql`
    changed as (
      update payments set
        ${columns.map((column) => sql`${column}, `)}
        previous_status = payments.status,
        updated_at = now()
      from fenced
      where payments.tenant_id = ${payment.tenantId} and payments.id = ${payment.id}
        and payments.status = ${payment.previousStatus}
      returning payments.*
    )
    ${payment.status === payment.previousStatus ? sql`` : sql`, ${event}`}
  `
}

/** The columns of each member that a change can have: what an answer says, the row says too. */
function changedColumns(
  sql: Sql | Transaction,
  { status, failure, ...payment }: ChangedPayment,
): Record<keyof PaymentChange, Fragment> {
  return {
    status: sql`status = ${status}`,
    failure: sql`
        failure_code = ${failure?.code ?? null},
        failure_decline_code = ${failure?.declineCode ?? null},
        failure_message = ${failure?.message ?? null}`,
    providerPaymentId: sql`
        provider_payment_id = coalesce(${payment.providerPaymentId}, provider_payment_id)`,
    clientSecret: sql`client_secret = coalesce(${payment.clientSecret}, client_secret)`,
    amountMinor: sql`amount_minor = ${payment.amountMinor}`,
    amountCapturedMinor: sql`
        amount_captured_minor = greatest(${payment.amountCapturedMinor}, amount_captured_minor)`,
  }
}

/**
 * Sets a payment to work again for an operation that is reopened, if it waits as it did when the
 * operation first took it.
 *
 * @throws StaleResourceError when it does not: another operation has it, or has ended it.
 */
export async function markProcessingAgain(
  tx: Transaction,
  payment: Payment,
  statuses: readonly PaymentStatus[],
  idempotencyKey: string,
): Promise<Payment> {
  if (!statuses.includes(payment.status)) {
    throw new StaleResourceError(`payment ${payment.id}`, statuses.join(' or '))
  }
  return await changePayment(tx, payment, { status: 'processing' }, idempotencyKey)
}

/**
 * Sets a payment of an unknown outcome to work again. The status in which it waited before becomes the
 * one before, as when the operation took it, so that it can go back there; a new one has never waited.
 *
 * @throws StaleResourceError when it is not unknown any more.
 */
export async function resumePayment(
  tx: Transaction,
  payment: Payment,
  idempotencyKey: string,
): Promise<Payment> {
  const [row] = await tx<{ payment: PaymentRow }[]>`
    with waited as (
      select object ->> 'status' as status from events
      where tenant_id = ${payment.tenantId} and payment_id = ${payment.id}
        and type = any(${waitingStatuses.map((status) => `payment.${status}`)}::text[])
      order by id desc
      limit 1
    ),
    changed as (
      update payments set
        status = 'processing',
        previous_status = coalesce((select status from waited), payments.status),
        updated_at = now()
      where tenant_id = ${payment.tenantId} and id = ${payment.id} and status = 'unknown'
      returning *
    ),
    ${insertEventOfChange(tx, { cte: 'changed', kind: 'payment' }, idempotencyKey)}
    select to_jsonb(changed) as payment from changed where ${seesTenant(tx, payment.tenantId)}
  `
  if (row === undefined) throw new StaleResourceError(`payment ${payment.id}`, 'unknown')
  return paymentFromRow(row.payment)
}

/** A resource has left the status that it was read with: somebody else has changed it since. */
export class StaleResourceError extends Error {
  override name = 'StaleResourceError'

  constructor(resource: string, status: string) {
    super(`${resource} is not ${status} any more`)
  }
}
