// Starts the operation that an event of the provider asks for, and pursues it: the event acts as the
// client of the operation.
import { hash, randomUUIDv7 } from 'node:crypto'
import type { IdempotencyKey } from '../db/idempotency/idempotency-keys.ts'
import type { Intent, WriteResources } from '../db/idempotency/intent.ts'
import { IntentRefusedError, reserveIntent } from '../db/idempotency/intents.ts'
import { StaleResourceError } from '../db/payments/payments.ts'
import type { ProviderEventStatus } from '../domain/events/provider-event.ts'
import { retentionOf } from '../domain/idempotency/idempotency-key.ts'
import { isFinal, type Payment } from '../domain/payments/payment.ts'
import type { Engine } from '../engine/engine.ts'
import { reopenOperation } from '../engine/reopen-or-cancel.ts'

/**
 * Reserves the operation; a later look at the event waits for it.
 *
 * @param firstEvent the event of a resource that begins with the operation.
 */
export async function reserve(
  { store, settings, observe }: Engine,
  begun: Omit<Intent, 'id' | 'fingerprint' | 'retentionSeconds'>,
  write: WriteResources,
  firstEvent?: string,
): Promise<ProviderEventStatus> {
  const intent: Intent = {
    ...begun,
    id: randomUUIDv7(),
    fingerprint: hash('sha256', begun.key, 'buffer'),
    retentionSeconds: retentionOf(settings, begun.operation),
  }
  try {
    const { id } = await reserveIntent(store.sql, intent, write)
    if (firstEvent !== undefined && id === intent.id) observe.insertedEvents(firstEvent, 1)
  } catch (error) {
    // Another operation was faster. Once it is completed, the status decides.
    if (!(error instanceof IntentRefusedError)) throw error
  }
  return 'pending'
}

/** Waits for the operation that this event started, and retries it as a client would. */
export async function pursue(
  engine: Engine,
  operation: IdempotencyKey,
  payment: Payment,
): Promise<ProviderEventStatus> {
  switch (operation.status) {
    case 'completed':
      return 'applied'
    case 'failed_retryable':
      return await reopen(engine, operation, payment)
    case 'pending':
    case 'processing':
    // The outcome resolver owns it until it has one of the other statuses.
    case 'unknown':
      return 'pending'
  }
}

export async function reopen(
  engine: Engine,
  operation: IdempotencyKey,
  payment: Payment,
): Promise<ProviderEventStatus> {
  try {
    await reopenOperation(engine, operation)
    return 'pending'
  } catch (error) {
    if (!(error instanceof StaleResourceError)) throw error
    // Another operation works on the payment, or has ended it. In that case this one is obsolete.
    return isFinal(payment.status) ? 'ignored' : 'pending'
  }
}
