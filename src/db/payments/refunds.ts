// Inserts, reads and changes refunds, and the amounts that they reserve and take from their payment.
// Refunds together never exceed the capture: the payment is locked while its amount is reserved, and a CHECK
// enforces the same.
import { amountLeftMinor, type Payment } from '../../domain/payments/payment.ts'
import {
  refundAfter,
  type ChangedRefund,
  type Refund,
  type RefundChange,
  type RefundStatus,
  waitingRefundStatuses,
} from '../../domain/payments/refund.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { findIn, listOf, matching, type PageRequest } from '../connection/pages.ts'
import { rowsOf, type RowOf } from '../connection/rows.ts'
import { asTenant, together } from '../connection/transaction.ts'
import { eventsOfChange, writeEvents, type NewEvent } from '../events/write-events.ts'
import {
  byIntent,
  unchanged,
  unlessDuplicate,
  type Intent,
  type WriteResources,
} from '../idempotency/intent.ts'
import type { refunds } from '../schema/payments.ts'
import { findDisputed } from './disputes.ts'
import {
  inOrderOfReference,
  lockPayments,
  paymentFromRow,
  StaleResourceError,
  withFailure,
} from './payments.ts'

export type RefundRow = RowOf<typeof refunds>

export function refundFromRow({ previous_status: _previous, ...row }: RefundRow): Refund {
  // A version before the column `moved` did not write it.
  const moved = row.moved || row.status === 'succeeded'
  return { ...withFailure(row), moved }
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
  const paymentOf = new Map(payments.map((row) => [row.id, paymentFromRow(row)]))
  const allowed: Intent[] = []
  const refunds = []
  for (const intent of intents) {
    const payment = paymentOf.get(intent.paymentId)
    if (payment?.status !== 'succeeded' || disputed.has(payment.id)) continue
    const left = amountLeftMinor(payment)
    const amountMinor = Number(intent.details?.['amountMinor'] ?? left)
    if (amountMinor <= 0 || amountMinor > left) continue
    allowed.push(intent)
    const { refundId: id, details } = intent
    const { id: paymentId, currency } = payment
    refunds.push({ tenantId, id, paymentId, currency, ...details, amountMinor })
  }
  if (allowed.length === 0) return new Map()
  const inserted = await tx<RefundRow[]>`
    insert into refunds ${rowsOf(tx, inOrderOfReference(refunds))}
    on conflict do nothing
    returning *
  `
  const reserving = inserted.map(
    async ({ payment_id: paymentId, amount_minor: amount }) =>
      await tx`
        update payments
        set amount_refunding_minor = amount_refunding_minor + ${amount}, updated_at = now()
        where tenant_id = ${tenantId} and id = ${paymentId}
      `,
  )
  await together(reserving)
  return unlessDuplicate(allowed, inserted, refundIdOf)
}

/** Finds the refunds of intents if they are in one of the statuses, and leaves them as they are. */
export const lockRefundIfIn =
  (statuses: readonly RefundStatus[]): WriteResources =>
  async (tx, tenantId, intents) => {
    const found = await tx<RefundRow[]>`
      select * from refunds
      where tenant_id = ${tenantId} and id = any(${intents.map(refundIdOf)}::uuid[])
      order by id
      for no key update
    `
    const allowed = found.filter(({ status }) => statuses.includes(status))
    return byIntent(intents, allowed.map(unchanged), refundIdOf)
  }

const refundIdOf = ({ refundId }: Intent): string | null => refundId

const REFUNDS = { table: 'refunds', fromRow: refundFromRow }

export const findRefund = (sql: Sql | Transaction, tenantId: string, id: string) =>
  findIn(sql, tenantId, REFUNDS, { id })

export const listRefunds = (
  sql: Sql,
  tenantId: string,
  {
    paymentId,
    reference,
  }: { readonly paymentId?: string; readonly reference?: string | undefined },
  request: PageRequest,
) => {
  const where = matching(sql, { payment_id: paymentId, reference })
  return listOf(sql, tenantId, { ...REFUNDS, where }, request)
}

/**
 * Finds the refund of a payment that an object of the provider is. If no refund names the object
 * yet, one that does not know its object yet.
 */
export async function findRefundOfObject(
  sql: Sql | Transaction,
  { tenantId, id: paymentId }: Pick<Payment, 'tenantId' | 'id'>,
  objectId: string,
): Promise<Refund | undefined> {
  const [row] = await asTenant(sql, tenantId)<RefundRow[]>`
    select * from refunds
    where tenant_id = ${tenantId} and payment_id = ${paymentId}
      and (
        provider_refund_id = ${objectId}
        or provider_refund_id is null and status in ('processing', 'unknown')
      )
    order by provider_refund_id nulls last
    limit 1
  `
  return row && refundFromRow(row)
}

interface Unreturned {
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
 * Changes a refund that is still in the status it was read with, adjusts the amounts of its
 * payment, and writes the event.
 *
 * @throws StaleResourceError when it is in another status, or when a resumed refund cannot reserve
 *   its amount again because too little is left. The transaction has to be rolled back.
 */
export async function changeRefund(
  tx: Transaction,
  refund: Refund,
  change: RefundChange,
  idempotencyKey: string,
): Promise<Refund> {
  const changed = refundAfter(refund, change)
  await writeEvents(tx, refund.tenantId, await updateRefund(tx, changed, idempotencyKey))
  return changed
}

/**
 * Changes a refund that is still in its previous status, and the amounts of its payment. The refund is
 * locked first, because an event can change it at the same time. Returns the event of the change, which
 * the caller has to write.
 *
 * @throws StaleResourceError like `changeRefund`.
 */
export async function updateRefund(
  tx: Transaction,
  refund: ChangedRefund,
  idempotencyKey: string,
): Promise<NewEvent[]> {
  const { tenantId, id, paymentId, status, previousStatus, failure, amountMinor } = refund
  const reservedMinor = (reservedBy(status) - reservedBy(previousStatus)) * amountMinor
  const refundedMinor = (givenBy(status) - givenBy(previousStatus)) * amountMinor
  const [changed] = await tx<RefundRow[]>`
    update refunds set
      status = ${status},
      previous_status = status,
      failure_code = ${failure?.code ?? null},
      failure_decline_code = ${failure?.declineCode ?? null},
      failure_message = ${failure?.message ?? null},
      provider_refund_id = coalesce(${refund.providerRefundId}, provider_refund_id),
      moved = ${refund.moved},
      updated_at = now()
    where tenant_id = ${tenantId} and id = ${id} and status = ${previousStatus}
    returning *
  `
  if (changed === undefined) throw new StaleResourceError(`refund ${id}`, previousStatus)
  const { count } = await tx`
    update payments set
      amount_refunding_minor = amount_refunding_minor + ${reservedMinor},
      amount_refunded_minor = amount_refunded_minor + ${refundedMinor},
      updated_at = now()
    where tenant_id = ${tenantId} and id = ${paymentId}
      and amount_refunding_minor + ${reservedMinor}
        <= amount_captured_minor - amount_refunded_minor - ${refundedMinor}
  `
  if (count === 0) throw new StaleResourceError(`refund ${id}`, previousStatus)
  return eventsOfChange('refund', changed, idempotencyKey)
}

/** 1 when a refund in this status reserves its amount, else 0. */
function reservedBy(status: RefundStatus): number {
  return ['processing', 'unknown', ...waitingRefundStatuses].includes(status) ? 1 : 0
}

/** 1 when a refund in this status has given its amount to the customer, else 0. */
function givenBy(status: RefundStatus): number {
  return status === 'succeeded' ? 1 : 0
}
