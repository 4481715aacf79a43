// Stores and reads the provider's events. One transaction stores an event and its job, so that an
// acknowledged event is always applied.
import type {
  ProviderEvent,
  ProviderEventRef,
  ProviderEventStatus,
} from '../../domain/events/provider-event.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import { refundFromRow, type RefundRow } from '../payments/refunds.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { rowsOf } from '../connection/rows.ts'
import { asService, asTenant, inService } from '../connection/transaction.ts'
import { addJobs, providerEventJob, type EventOfJob } from '../queue/jobs.ts'
import { PROVIDER_EVENTS_QUEUE } from '../queue/queues.ts'
import type { providerEvents } from '../schema/provider-events.ts'
import type { RowOf } from '../schema/row-of.ts'

/** An event in the inbox. */
export interface StoredProviderEvent extends ProviderEvent {
  readonly status: ProviderEventStatus
  /** How long ago it was stored, in seconds by the database's clock. */
  readonly ageSeconds: number
}

type ProviderEventRow = Omit<RowOf<typeof providerEvents>, 'received_at' | 'settled_at'> & {
  readonly age_seconds: number
}

function eventFromRow(row: ProviderEventRow): StoredProviderEvent {
  const { tenant_id: tenantId, payment_id: paymentId } = row
  return {
    provider: row.provider,
    id: row.id,
    type: row.type,
    about: row.about,
    objectId: row.object_id,
    providerPaymentId: row.provider_payment_id,
    subject: tenantId === null || paymentId === null ? null : { tenantId, paymentId },
    status: row.status,
    occurredAt: new Date(row.occurred_at),
    ageSeconds: row.age_seconds,
  }
}

/**
 * Stores an event with its job in the queue, whose settings limit the retries. Returns whether the
 * event is new; a known event stays unchanged.
 */
export async function storeProviderEvent(
  sql: Sql,
  event: ProviderEvent,
  queue = PROVIDER_EVENTS_QUEUE,
): Promise<boolean> {
  return await inService(sql, (tx) => addProviderEvents(tx, [event], queue))
}

/** Stores events with their jobs in a transaction of the caller. Returns whether one of them is new. */
export async function addProviderEvents(
  tx: Transaction,
  events: readonly ProviderEvent[],
  queue: string,
): Promise<boolean> {
  if (events.length === 0) return false
  const rows = events.map((event) => ({
    provider: event.provider,
    id: event.id,
    type: event.type,
    about: event.about,
    object_id: event.objectId,
    provider_payment_id: event.providerPaymentId,
    tenant_id: event.subject?.tenantId ?? null,
    payment_id: event.subject?.paymentId ?? null,
    occurred_at: event.occurredAt.toISOString(),
  }))
  const stored = await tx<EventOfJob[]>`
    insert into provider_events ${rowsOf(tx, rows)}
    on conflict (provider, id) do nothing
    returning provider, id, tenant_id as "tenantId"
  `
  await addJobs(
    tx,
    queue,
    stored.map((event) => ({ data: providerEventJob(event) })),
  )
  return stored.length > 0
}

/** Finds an event in the inbox. */
export async function findProviderEvent(
  sql: Sql,
  { provider, id }: ProviderEventRef,
): Promise<StoredProviderEvent | undefined> {
  const [row] = await asService(sql)<ProviderEventRow[]>`
    select
      provider, id, type, about, object_id, provider_payment_id, tenant_id, payment_id, status,
      occurred_at, extract(epoch from now() - received_at)::float8 as age_seconds
    from provider_events
    where provider = ${provider} and id = ${id}
  `
  return row && eventFromRow(row)
}

/** Records which payment an event is about, if the event itself did not name one. */
export async function nameSubjectIfUnnamed(
  sql: Sql,
  { provider, id }: ProviderEventRef,
  { tenantId, id: paymentId }: Pick<Payment, 'tenantId' | 'id'>,
): Promise<void> {
  await asService(sql)`
    update provider_events set tenant_id = ${tenantId}, payment_id = ${paymentId}
    where provider = ${provider} and id = ${id} and payment_id is null
  `
}

/** Records the final status of a pending event. */
export async function closeProviderEventIfPending(
  sql: Sql,
  { provider, id }: ProviderEventRef,
  status: Exclude<ProviderEventStatus, 'pending'>,
): Promise<void> {
  await asService(sql)`
    update provider_events set status = ${status}, settled_at = now()
    where provider = ${provider} and id = ${id} and status = 'pending'
  `
}

/**
 * The provider's payment ids that its events named for a payment, newest first. Internal events
 * name none.
 */
export async function findProviderPaymentIds(
  sql: Sql,
  { tenantId, id, provider }: Pick<Payment, 'tenantId' | 'id' | 'provider'>,
): Promise<string[]> {
  const rows = await asTenant(sql, tenantId)<{ provider_payment_id: string }[]>`
    select provider_payment_id from provider_events
    where tenant_id = ${tenantId} and payment_id = ${id} and provider = ${provider}
      and provider_payment_id is not null
    group by provider_payment_id
    order by max(received_at) desc
  `
  return rows.map((row) => row.provider_payment_id)
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
  const [row] = await asTenant(sql, tenantId)<{ refund: RefundRow }[]>`
    select to_jsonb(refunds) as refund from refunds
    where tenant_id = ${tenantId} and payment_id = ${paymentId}
      and (
        provider_refund_id = ${objectId}
        or provider_refund_id is null and status in ('processing', 'unknown')
      )
    order by provider_refund_id nulls last
    limit 1
  `
  return row && refundFromRow(row.refund)
}
