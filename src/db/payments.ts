// The statements on payments. Each guarded update says in its predicate which status it leaves, so
// that a payment never takes a step that its status does not allow.
import type { Failure, Payment, PaymentRequest, PaymentStatus } from '../domain/payment.ts'
import type { Fragment, Sql, Transaction } from './client.ts'

/** A row of `payments` as `to_jsonb` renders it. */
export interface PaymentRow {
  tenant_id: string
  id: string
  amount_minor: number
  amount_captured_minor: number
  amount_refunded_minor: number
  currency: string
  status: PaymentStatus
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
  created_at: string
}

export function paymentFromRow(row: PaymentRow): Payment {
  return {
    tenantId: row.tenant_id,
    id: row.id,
    amountMinor: row.amount_minor,
    amountCapturedMinor: row.amount_captured_minor,
    amountRefundedMinor: row.amount_refunded_minor,
    currency: row.currency,
    status: row.status,
    captureMethod: row.capture_method,
    paymentMethod: row.payment_method,
    customer: row.customer,
    description: row.description,
    metadata: row.metadata,
    failure:
      row.failure_code === null
        ? null
        : {
            code: row.failure_code,
            declineCode: row.failure_decline_code,
            message: row.failure_message ?? '',
          },
    provider: row.provider,
    providerPaymentId: row.provider_payment_id,
    createdAt: new Date(row.created_at),
  }
}

/** A part of the intent statement: the payment of an operation whose key `reserved` holds. */
export function insertReservedPayment(
  sql: Sql,
  payment: PaymentRequest,
  provider: string,
): Fragment {
  return sql`
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
    where tenant_id = ${tenantId} and id = ${id}
  `
  return row && paymentFromRow(row.payment)
}

/** A page of a list: at most `limit` items, before or after the item with the given id. */
export interface PageRequest {
  readonly limit: number
  readonly startingAfter?: string
  readonly endingBefore?: string
}

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly hasMore: boolean
}

/**
 * A tenant's payments, newest first: ids are UUIDv7, so that the primary key is in order of time.
 * One more than the limit is read, to know whether there are more in the direction of the paging.
 */
export async function listPayments(
  sql: Sql,
  tenantId: string,
  { limit, startingAfter, endingBefore }: PageRequest,
): Promise<Page<Payment>> {
  const older = startingAfter === undefined ? sql`` : sql`and id < ${startingAfter}`
  const newer = endingBefore === undefined ? sql`` : sql`and id > ${endingBefore}`
  const backwards = endingBefore !== undefined
  const rows = await sql<{ payment: PaymentRow }[]>`
    select to_jsonb(payments) as payment
    from payments
    where tenant_id = ${tenantId} ${older} ${newer}
    order by id ${backwards ? sql`asc` : sql`desc`}
    limit ${limit + 1}
  `
  const items = rows.slice(0, limit).map((row) => paymentFromRow(row.payment))
  return { items: backwards ? items.toReversed() : items, hasMore: rows.length > limit }
}

/** What a phase found out about a payment; what is left out stays as it is. */
export interface PaymentChange {
  readonly status: PaymentStatus
  readonly failure?: Failure | null
  readonly providerPaymentId?: string | null
  readonly amountCapturedMinor?: number
}

/**
 * Changes a payment that is in one of the given statuses.
 *
 * @throws Error when it is in another one: the operation that owns the payment is the only one that
 *   may change it, so this is a bug, and the transaction must not go on.
 */
export async function changePaymentIfIn(
  tx: Transaction,
  payment: Pick<Payment, 'tenantId' | 'id'>,
  from: readonly PaymentStatus[],
  change: PaymentChange,
): Promise<Payment> {
  const { failure, providerPaymentId, amountCapturedMinor } = change
  const [row] = await tx<{ payment: PaymentRow }[]>`
    update payments set
      status = ${change.status},
      failure_code = ${failure?.code ?? null},
      failure_decline_code = ${failure?.declineCode ?? null},
      failure_message = ${failure?.message ?? null},
      provider_payment_id = coalesce(${providerPaymentId ?? null}, provider_payment_id),
      amount_captured_minor = coalesce(${amountCapturedMinor ?? null}, amount_captured_minor),
      updated_at = now()
    where tenant_id = ${payment.tenantId} and id = ${payment.id} and status = any(${[...from]}::text[])
    returning to_jsonb(payments) as payment
  `
  if (row === undefined) {
    throw new Error(`payment ${payment.id} is not ${from.join(' or ')}, so not ${change.status}`)
  }
  return paymentFromRow(row.payment)
}
