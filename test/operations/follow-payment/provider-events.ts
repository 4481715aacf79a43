// Events of the provider for tests: creates events about a payment, delivers them in any order, and
// runs the operations that they start.
import { randomUUID } from 'node:crypto'
import type { Engine } from '../../../src/engine/engine.ts'
import { findProviderEvent, storeProviderEvent } from '../../../src/db/events/provider-events.ts'
import { insertRun } from '../../../src/reconciliation/runs.ts'
import type { Payment } from '../../../src/domain/payments/payment.ts'
import type {
  ProviderEvent,
  ProviderEventStatus,
} from '../../../src/domain/events/provider-event.ts'
import { applyProviderEvent } from '../../../src/operations/apply-provider-event.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { carryOutRun } from '../../../src/reconciliation/carry-out-run.ts'
import type { TestEngine } from '../../support/engine.ts'

/** The fields of a payment that an event names. */
export type Named = Pick<Payment, 'tenantId' | 'id' | 'providerPaymentId'>

/** An event about a payment. A test overrides the fields that matter. */
export function eventAbout(payment: Named, fields: Partial<ProviderEvent> = {}): ProviderEvent {
  return {
    provider: 'stripe',
    id: `evt_${randomUUID().replaceAll('-', '')}`,
    type: 'payment_intent.amount_capturable_updated',
    about: 'payment',
    objectId: payment.providerPaymentId ?? '',
    providerPaymentId: payment.providerPaymentId,
    subject: { tenantId: payment.tenantId, paymentId: payment.id },
    occurredAt: new Date(),
    ...fields,
  }
}

/** Stores an event, unless it is known, and applies it as far as possible. */
export async function deliver(engine: Engine, event: ProviderEvent): Promise<ProviderEventStatus> {
  await storeProviderEvent(engine.store.sql, event)
  return await applyProviderEvent(engine, event)
}

/** Runs the pending operations, as their jobs would. */
export async function runWaiting({ engine }: TestEngine): Promise<void> {
  const waiting = await engine.store.sql<{ tenantId: string; id: string }[]>`
    select tenant_id as "tenantId", id from idempotency_keys where status = 'pending'
  `
  for (const ref of waiting) await runOperation(engine, ref)
}

/** Works on events and operations until all of these events are applied or ignored. */
export async function applyAll(
  t: TestEngine,
  events: readonly ProviderEvent[],
): Promise<ProviderEventStatus[]> {
  const { engine } = t
  for (let round = 0; round < 10; round += 1) {
    await runWaiting(t)
    const results: ProviderEventStatus[] = []
    for (const event of events) results.push(await applyProviderEvent(engine, event))
    if (!results.includes('pending')) return results
  }
  throw new Error('the events stay pending')
}

const DAY_MS = 24 * 60 * 60 * 1_000

/** Compares a day with the provider; `daysAhead` moves it into the future. */
export async function compare({ engine }: TestEngine, daysAhead = 0) {
  const from = new Date(Date.now() - DAY_MS / 2 + daysAhead * DAY_MS)
  const to = new Date(from.getTime() + DAY_MS)
  const request = { provider: 'stripe', from, to, requestedBy: 'test' }
  const run = await insertRun(engine.store.sql, request)
  return await carryOutRun(engine, run.id)
}

/** Applies what the reconciliation has found, and runs what that starts. */
export async function applyComparisons(t: TestEngine): Promise<void> {
  const { engine } = t
  const refs = await engine.store.sql<{ provider: string; id: string }[]>`
    select provider, id from provider_events where type = 'comparison' and status = 'pending'
  `
  for (const ref of refs) await applyProviderEvent(engine, ref)
  await runWaiting(t)
  for (const ref of refs) await applyProviderEvent(engine, ref)
}

export async function statusOf({ store }: Engine, event: ProviderEvent) {
  return (await findProviderEvent(store.sql, event))?.status
}
