// Inserts and reads payments, and marks them as processing in intent statements.
import type {
  CancellationReason,
  Failure,
  Payment,
  PaymentRequest,
} from '../../domain/payments/payment.ts'
import { finalStatuses, type PaymentStatus } from '../../domain/payments/payment-status.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { clientSecret } from '../encryption/encrypted-values.ts'
import type { IntentDetails } from '../idempotency/intent.ts'
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
  reference: string | null
  off_session: boolean
  return_url: string | null
  cancellation_reason: CancellationReason | null
  capture_before: string | null
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
 * The part `resource` of an intent statement: inserts the payment of each operation in `reserved`.
 * Saved payment methods need no check: the provider takes them only with their customer.
 */
export function insertPayments(sql: Sql): Fragment {
  return sql`
    resource as (
      insert into payments (
        tenant_id, id, amount_minor, currency, capture_method, payment_method, customer,
        description, reference, metadata, off_session, return_url, provider
      )
      select
        reserved.tenant_id, reserved.payment_id, (asked.details ->> 'amount_minor')::bigint,
        asked.details ->> 'currency', asked.details ->> 'capture_method',
        asked.details ->> 'payment_method',
        asked.details ->> 'customer', asked.details ->> 'description',
        asked.details ->> 'reference', asked.details -> 'metadata',
        (asked.details ->> 'off_session')::boolean,
        asked.details ->> 'return_url', asked.details ->> 'provider'
      from reserved join asked on asked.tenant_id = reserved.tenant_id and asked.id = reserved.id
      -- After the keys, references are locked in one order too.
      order by asked.details ->> 'reference'
      returning *
    )
  `
}

/**
 * The part `resource` of an intent statement: marks the payment of each operation in `reserved` as
 * `processing` if it is in one of the statuses. One of several concurrent operations succeeds.
 *
 * @param condition a further condition on the rows of `payments` and `reserved`.
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

/**
 * The part `resource` of an intent statement: the payment of each operation in `reserved`, unchanged,
 * if it is in one of the statuses.
 *
 * @param condition a further condition on the rows of `payments` and `reserved`.
 */
export function selectPaymentIfIn(
  sql: Sql,
  statuses: readonly PaymentStatus[],
  condition: Fragment = sql`true`,
): Fragment {
  return selectPaymentIf(sql, sql`payments.status = any(${[...statuses]}::text[]) and ${condition}`)
}

/**
 * The same part, if the payment uses another payment of the provider than this one, or is final and
 * uses none.
 */
export function selectPaymentWithSurplus(sql: Sql, providerPaymentId: string): Fragment {
  return selectPaymentIf(
    sql,
    sql`
      payments.provider_payment_id is distinct from ${providerPaymentId}
        and (
          payments.provider_payment_id is not null
          or payments.status = any(${finalStatuses}::text[])
        )
    `,
  )
}

/** A row whose previous status equals its status is no event. */
function selectPaymentIf(sql: Sql, condition: Fragment): Fragment {
  return sql`
    resource as (
      select (
        jsonb_populate_record(payments, jsonb_build_object('previous_status', payments.status))
      ).*
      from payments
      join reserved on payments.tenant_id = reserved.tenant_id and payments.id = reserved.payment_id
      where ${condition}
    )
  `
}

/** Finds a payment of a tenant. */
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
    columns: sql`to_jsonb(payments) as payment`,
    entries: sql`
      from payments where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} ${withReference}
    `,
    fromRow: ({ payment }: { payment: PaymentRow }) => paymentFromRow(payment),
  }
  return await readPage(sql, list, request)
}
