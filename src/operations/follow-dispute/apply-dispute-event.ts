// Applies an event about a dispute. The dispute is read at the provider, and belongs to our payment if
// the payment names the provider's. If it is new or has changed, `dispute.follow` records that.
import { randomUUIDv7 } from 'node:crypto'
import type { Sql } from '../../db/connection/client.ts'
import { rowsOf } from '../../db/connection/rows.ts'
import { asService, inTenant } from '../../db/connection/transaction.ts'
import { nameSubjectIfUnnamed, type StoredProviderEvent } from '../../db/events/provider-events.ts'
import { writePaymentEvents } from '../../db/events/write-events.ts'
import { findIdempotencyKey } from '../../db/idempotency/idempotency-keys.ts'
import { findDisputeOfObject, insertDispute, selectDispute } from '../../db/payments/disputes.ts'
import { findPayment, paymentFromRow, type PaymentRow } from '../../db/payments/payments.ts'
import { keyOfProviderEvent, type ProviderEvent } from '../../domain/events/provider-event.ts'
import { disputeHasMovedOn } from '../../domain/payments/dispute.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Engine } from '../../engine/engine.ts'
import { pursue, reserve } from '../operations-of-events.ts'
import type { ProviderEventStatus } from '../../domain/events/provider-event.ts'
import type { PaymentOfObject, ProviderDispute } from '../../provider/payment-provider.ts'
import { followDispute } from './phases.ts'
import { EARLY_FRAUD_WARNING } from '../../domain/events/event-types.ts'

/** @throws the errors of the provider's connection. */
export async function applyDisputeEvent(
  engine: Engine,
  event: StoredProviderEvent,
): Promise<ProviderEventStatus> {
  const { sql } = engine.store
  const key = keyOfProviderEvent(event)
  const named = event.subject
  const known = named && (await findPayment(sql, named.tenantId, named.paymentId))
  const started = known && (await findIdempotencyKey(sql, known.tenantId, key))
  // While its operation works, the event waits without another read at the provider.
  if (known && started) return await pursue(engine, started, known)
  const theirs = await engine.providers.named(event.provider).readDispute(event.objectId)
  const payment = theirs && (await findPaymentOf(sql, event.provider, theirs))
  if (theirs === undefined || payment === undefined) return 'unmatched'
  await nameSubjectIfUnnamed(sql, event, payment)
  return await follow(engine, payment, theirs, key)
}

/**
 * Our payment that names the provider's, in the tenant that the provider's names, otherwise in any. A payment
 * names it before its capture, and only a captured payment can be disputed, so none is found too early.
 */
export async function findPaymentOf(
  sql: Sql,
  provider: string,
  { providerPaymentId, correlation }: PaymentOfObject,
): Promise<Payment | undefined> {
  if (providerPaymentId === null) return undefined
  const named = correlation === null ? sql`` : sql`where tenants.id = ${correlation.tenantId}`
  const [row] = await asService(sql)<PaymentRow[]>`
    select payments.*
    from tenants
    join payments on payments.tenant_id = tenants.id
      and payments.provider = ${provider} and payments.provider_payment_id = ${providerPaymentId}
    ${named}
    limit 1
  `
  return row && paymentFromRow(row)
}

async function follow(
  engine: Engine,
  { tenantId, id: paymentId }: Payment,
  theirs: ProviderDispute,
  key: string,
): Promise<ProviderEventStatus> {
  const { sql } = engine.store
  const { providerStatus, providerDisputeId, createdAt: openedAt } = theirs
  if (providerStatus === undefined) return 'pending'
  const ours = await findDisputeOfObject(sql, tenantId, providerDisputeId)
  if (ours !== undefined && !disputeHasMovedOn(ours, providerStatus)) return 'ignored'
  const resource =
    ours === undefined
      ? insertDispute({ providerDisputeId, openedAt, providerStatus })
      : selectDispute
  const disputeId = ours?.id ?? randomUUIDv7()
  const following = { key, operation: followDispute.name, parameters: {} }
  return await reserve(
    engine,
    { ...following, tenantId, paymentId, refundId: null, disputeId },
    resource,
    ours === undefined ? 'dispute.created' : undefined,
  )
}

/**
 * Applies an early fraud warning: the bank of the cardholder suspects that the payment is fraud. It moves no
 * money, so all that happens is the event `payment.early_fraud_warning`, once for each warning.
 *
 * @throws the errors of the provider's connection.
 */
export async function applyEarlyFraudWarning(
  engine: Engine,
  event: StoredProviderEvent,
): Promise<ProviderEventStatus> {
  const { sql } = engine.store
  const warning = await engine.providers.named(event.provider).readEarlyFraudWarning(event.objectId)
  const payment = warning && (await findPaymentOf(sql, event.provider, warning))
  if (payment === undefined) return 'unmatched'
  const isNew = await announceEarlyFraudWarning(sql, payment, event)
  if (isNew) engine.observe.insertedEvents(EARLY_FRAUD_WARNING, 1)
  return isNew ? 'applied' : 'ignored'
}

/**
 * Inserts the event, unless another event about the warning did: an internal event of the inbox, with an id
 * made from the warning, lets one of them announce it. Returns whether this call did.
 */
export async function announceEarlyFraudWarning(
  sql: Sql,
  { tenantId, id: paymentId, providerPaymentId }: Payment,
  { provider, objectId }: Pick<ProviderEvent, 'provider' | 'objectId'>,
): Promise<boolean> {
  return await inTenant(sql, tenantId, async (tx) => {
    const id = `warning_${objectId}`
    const subject = { tenantId, paymentId, providerPaymentId, objectId }
    const kind = { type: 'warning', about: 'early_fraud_warning', status: 'applied' }
    const times = { occurredAt: tx`now()`, settledAt: tx`now()` }
    const { count } = await tx`
      insert into provider_events ${rowsOf(tx, [{ provider, id, ...subject, ...kind, ...times }])}
      on conflict (provider, id) do nothing
    `
    if (count === 1) await writePaymentEvents(tx, tenantId, [paymentId], EARLY_FRAUD_WARNING)
    return count === 1
  })
}
