// Inserts, reads and changes payments, with their events. Each change of a status is guarded by the one
// that it leaves, in the statement or under a lock. A CHECK refuses what the domain does not list.
import {
  paymentAfter,
  withStatus,
  type ChangedPayment,
  type Payment,
  type PaymentChange,
  type PaymentNotes,
  type PaymentRequest,
  waitingStatuses,
  type PaymentStatus,
} from '../../domain/payments/payment.ts'
import { createBatches } from '../connection/batches.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { findIn, listOf, matching, type PageRequest } from '../connection/pages.ts'
import { objectOf, rowsOf, valuesOf, type RowOf } from '../connection/rows.ts'
import { asTenant } from '../connection/transaction.ts'
import { clientSecret } from '../../encryption/encryption.ts'
import { eventsOfChange, writeEvents, type NewEvent } from '../events/write-events.ts'
import {
  byIntent,
  unchanged,
  unlessDuplicate,
  type Intent,
  type WriteResources,
} from '../idempotency/intent.ts'
import type { payments } from '../schema/payments.ts'

export type PaymentRow = RowOf<typeof payments>

export function paymentFromRow({ expiry_step: _step, ...row }: PaymentRow): Payment {
  return {
    ...withFailure(row),
    // Decrypted when it is read, so that only what needs it fails if it cannot be decrypted.
    get clientSecret() {
      return clientSecret.decrypt({ tenantId: row.tenant_id, id: row.id }, row.client_secret)
    },
  }
}

type FailureColumns = `failure_${'code' | 'decline_code' | 'message'}` | 'updated_at'

/** The object of a row of a payment or a refund, with the reason of a decline. */
export function withFailure<Row extends Pick<PaymentRow, FailureColumns>>(row: Row) {
  const { failure_code: code, failure_decline_code: declineCode, failure_message, ...others } = row
  const { updated_at: _updatedAt, ...columns } = others
  const failure = code === null ? null : { code, declineCode, message: failure_message ?? '' }
  return { ...objectOf(columns), failure }
}

/** What `insertPayments` reads of an intent. */
export const detailsOfPayment = (payment: PaymentRequest, provider: string) => ({
  amountMinor: payment.amountMinor,
  currency: payment.currency,
  captureMethod: payment.captureMethod,
  paymentMethod: payment.paymentMethod,
  customer: payment.customer,
  description: payment.description,
  reference: payment.reference,
  metadata: payment.metadata,
  offSession: payment.offSession ?? false,
  returnUrl: payment.returnUrl ?? null,
  provider,
})

/**
 * Inserts the payments of intents. Saved payment methods need no check: the provider takes them only with
 * their customer.
 */
export const insertPayments: WriteResources = async (tx, tenantId, intents) => {
  const payments = intents.map(({ paymentId: id, details }) => ({ tenantId, id, ...details }))
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
export const markProcessingIfIn =
  (statuses: readonly PaymentStatus[], condition?: PaymentCondition): WriteResources =>
  async (tx, tenantId, intents) => {
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
export const selectPaymentIfIn =
  (statuses: readonly PaymentStatus[], condition?: PaymentCondition): WriteResources =>
  async (tx, tenantId, intents) => {
    const payments = await tx<PaymentRow[]>`
      select * from payments
      where tenant_id = ${tenantId} and id = any(${intents.map(paymentIdOf)}::uuid[])
    `
    const allowed = allowedIntents(intents, payments, statuses, condition)
    return byIntent(allowed, payments.map(unchanged), paymentIdOf)
  }

function allowedIntents(
  intents: readonly Intent[],
  rows: readonly PaymentRow[],
  statuses: readonly PaymentStatus[],
  condition: PaymentCondition = () => true,
): Intent[] {
  const payments = new Map(rows.map((row) => [row.id, row]))
  return intents.filter(({ paymentId, parameters }) => {
    const row = payments.get(paymentId)
    if (row === undefined || !statuses.includes(row.status)) return false
    return condition(paymentFromRow(row), parameters)
  })
}

const paymentIdOf = ({ paymentId }: Intent): string => paymentId

const PAYMENTS = { table: 'payments', fromRow: paymentFromRow }

export const findPayment = (sql: Sql | Transaction, tenantId: string, id: string) =>
  findIn(sql, tenantId, PAYMENTS, { id })

type PaymentRef = Pick<Payment, 'tenantId' | 'id'>

/** Finds payments of one tenant; undefined for one that does not exist. */
export async function findEachPayment(
  sql: Sql,
  refs: readonly PaymentRef[],
): Promise<(Payment | undefined)[]> {
  const [{ tenantId } = { tenantId: '' }] = refs
  const rows = await asTenant(sql, tenantId)<PaymentRow[]>`
    select * from payments
    where tenant_id = ${tenantId} and id = any(${refs.map(({ id }) => id)}::uuid[])
  `
  const found = new Map(rows.map((row) => [row.id, paymentFromRow(row)]))
  return refs.map(({ id }) => found.get(id))
}

/** Finds a payment. Those of a tenant that are asked for together share a statement. */
export const readPayment = createBatches(
  (refs: readonly PaymentRef[], sql: Sql) => findEachPayment(sql, refs),
  { groupOf: ({ tenantId }) => tenantId },
)

export const listPayments = (
  sql: Sql,
  tenantId: string,
  { reference }: { readonly reference?: string | undefined },
  request: PageRequest,
) => listOf(sql, tenantId, { ...PAYMENTS, where: matching(sql, { reference }) }, request)

/** A reference, of a payment or of a refund: the two do not share theirs. */
export interface ReferenceName {
  readonly tenantId: string
  readonly kind: 'payment' | 'refund'
  readonly reference: string
}

/**
 * The id of the payment or refund that uses the reference; undefined when none does. Those that
 * ended without effect do not use theirs.
 */
export async function findUserOfReference(
  sql: Sql,
  { tenantId, kind, reference }: ReferenceName,
): Promise<string | undefined> {
  const [row] = await asTenant(sql, tenantId)<{ id: string }[]>`
    select id from ${sql(`${kind}s`)}
    where tenant_id = ${tenantId} and reference = ${reference}
      and status not in ('declined', 'canceled', 'failed')
  `
  return row?.id
}

/** A resource has left the status that it was read with: another process changed it. */
export class StaleResourceError extends Error {
  override name = 'StaleResourceError'

  constructor(resource: string, status: string) {
    super(`${resource} is not ${status} any more`)
  }
}

/**
 * Changes a payment that is still in the status it was read with, and writes the event.
 *
 * @throws StaleResourceError when it is in another status.
 */
export async function changePayment(
  tx: Transaction,
  payment: Payment,
  change: PaymentChange,
  idempotencyKey: string,
): Promise<Payment> {
  const changed = paymentAfter(payment, change)
  await writeEvents(tx, payment.tenantId, await updatePayment(tx, changed, idempotencyKey))
  return changed
}

/**
 * Changes a payment that is still in its previous status. Returns the event of the change, which the
 * caller has to write.
 *
 * @throws StaleResourceError when it is in another status. The transaction has to be rolled back.
 */
export async function updatePayment(
  tx: Transaction,
  payment: ChangedPayment,
  idempotencyKey: string,
): Promise<NewEvent[]> {
  const { tenantId, id, previousStatus } = payment
  const { status, failure, captureBefore, provider, ...others } = changedValues(payment)
  const isHeld = status === 'requires_capture' && captureBefore !== null
  const [changed] = await tx<PaymentRow[]>`
    update payments set
      status = ${status},
      previous_status = status,
      failure_code = ${failure?.code ?? null},
      failure_decline_code = ${failure?.declineCode ?? null},
      failure_message = ${failure?.message ?? null},
      cancellation_reason = ${others.cancellationReason},
      capture_before = ${captureBefore},
      -- A hold that begins, or whose end moves, has to be announced before its end.
      expiry_step = case
        when ${isHeld}
          and (expiry_step is null or capture_before is distinct from ${captureBefore}::timestamptz)
        then 'announce'
        else expiry_step
      end,
      provider_payment_id = coalesce(${others.providerPaymentId}, provider_payment_id),
      client_secret = coalesce(${others.clientSecret}, client_secret),
      amount_minor = ${others.amountMinor},
      amount_captured_minor = greatest(${others.amountCapturedMinor}::bigint, amount_captured_minor),
      -- An erased payment method stays erased.
      payment_method = case when provider = ${provider}
        then payment_method else ${others.paymentMethod} end,
      provider = ${provider},
      updated_at = now()
    where tenant_id = ${tenantId} and id = ${id} and status = ${previousStatus}
    returning *
  `
  if (changed === undefined) throw new StaleResourceError(`payment ${id}`, previousStatus)
  return eventsOfChange('payment', changed, idempotencyKey)
}

/** Stores something on a payment, whose status may be another one by now. */
export async function storeOnPayment(
  tx: Transaction,
  tenantId: string,
  id: string,
  notes: PaymentNotes,
): Promise<void> {
  await tx`
    update payments set ${valuesOf(tx, notes)}, updated_at = now()
    where tenant_id = ${tenantId} and id = ${id}
  `
}

/** Each member that a change can have, as its column takes it: what an answer says, the row says too. */
const changedValues = (payment: ChangedPayment) =>
  ({
    status: payment.status,
    failure: payment.failure,
    cancellationReason: payment.cancellationReason,
    captureBefore: payment.captureBefore?.toISOString() ?? null,
    providerPaymentId: payment.providerPaymentId,
    clientSecret: clientSecret.encrypt(payment, payment.clientSecret),
    amountMinor: payment.amountMinor,
    amountCapturedMinor: payment.amountCapturedMinor,
    provider: payment.provider,
    paymentMethod: payment.paymentMethod,
  }) satisfies Record<keyof PaymentChange, unknown>

/**
 * Marks a payment as processing for a reopened operation, if it is in one of the statuses in which
 * the operation first found it.
 *
 * @throws StaleResourceError when it is not: another operation has changed it.
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
  return await changePayment(tx, payment, withStatus(payment, 'processing'), idempotencyKey)
}

/**
 * Marks an unknown payment as processing. The last waiting status becomes its previous status
 * again, so that it can go back there. A new payment never had one.
 *
 * @throws StaleResourceError when the payment is not unknown any more.
 */
export async function resumePayment(
  tx: Transaction,
  payment: Payment,
  idempotencyKey: string,
): Promise<Payment> {
  const { tenantId, id } = payment
  const [waited] = await tx<{ status: PaymentStatus }[]>`
    select object ->> 'status' as status from events
    where tenant_id = ${tenantId} and payment_id = ${id}
      and type = any(${waitingStatuses.map((status) => `payment.${status}`)}::text[])
    order by id desc
    limit 1
  `
  const [row] = await tx<PaymentRow[]>`
    update payments set
      status = 'processing', previous_status = ${waited?.status ?? 'unknown'}, updated_at = now()
    where tenant_id = ${tenantId} and id = ${id} and status = 'unknown'
    returning *
  `
  if (row === undefined) throw new StaleResourceError(`payment ${id}`, 'unknown')
  await writeEvents(tx, tenantId, eventsOfChange('payment', row, idempotencyKey))
  return paymentFromRow(row)
}
