// Stores and reads the provider's events. One transaction stores an event and its job, so that an
// acknowledged event is always applied.
import type {
  ProviderEvent,
  ProviderEventRef,
  ProviderEventStatus,
} from '../../domain/events/provider-event.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { objectOf, rowsOf, type RowOf } from '../connection/rows.ts'
import { asService, inService } from '../connection/transaction.ts'
import { addJobs, PROVIDER_EVENTS_QUEUE, type ProviderEventJob } from '../queue/jobs.ts'
import type { providerEvents } from '../schema/events.ts'

/** An event in the inbox. */
export interface StoredProviderEvent extends ProviderEvent {
  readonly status: ProviderEventStatus
  /** How long ago it was stored, in seconds by the database's clock. */
  readonly ageSeconds: number
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
    objectId: event.objectId,
    providerPaymentId: event.providerPaymentId,
    tenantId: event.subject?.tenantId,
    paymentId: event.subject?.paymentId,
    occurredAt: event.occurredAt,
  }))
  const stored = await tx<ProviderEventJob[]>`
    insert into provider_events ${rowsOf(tx, rows)}
    on conflict (provider, id) do nothing
    returning provider, id as "eventId", tenant_id as "tenantId"
  `
  const jobs = stored.map((data) => ({ data }))
  await addJobs(tx, queue, jobs)
  return stored.length > 0
}

export async function findProviderEvent(
  sql: Sql,
  { provider, id }: ProviderEventRef,
): Promise<StoredProviderEvent | undefined> {
  type Row = Omit<RowOf<typeof providerEvents>, 'received_at' | 'settled_at'>
  const [row] = await asService(sql)<(Row & { readonly age_seconds: number })[]>`
    select
      provider, id, type, about, object_id, provider_payment_id, tenant_id, payment_id, status,
      occurred_at, extract(epoch from now() - received_at)::float8 as age_seconds
    from provider_events
    where provider = ${provider} and id = ${id}
  `
  if (row === undefined) return undefined
  const { tenantId, paymentId, ...event } = objectOf(row)
  const subject = tenantId === null || paymentId === null ? null : { tenantId, paymentId }
  return { ...event, subject }
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
