// Transactions of webhooks, of the provider's events, of holds that end, and of operators.
import { randomUUIDv7 } from 'node:crypto'
import { beforeAll } from '@jest/globals'
import { storeProviderEvent } from '../../../src/db/events/provider-events.ts'
import { requeueStaleEvents } from '../../../src/reconciliation/compare-events.ts'
import { announceEarlyFraudWarning } from '../../../src/operations/follow-dispute/apply-dispute-event.ts'
import { announceIfExpiring, lookIfExpired } from '../../../src/recovery/expiring-holds.ts'
import { requeueProviderEventUnlessApplied } from '../../../src/recovery/dead-letters.ts'
import { deleteOldProviderEvents } from '../../../src/recovery/prune.ts'
import { PROVIDER_EVENTS_QUEUE } from '../../../src/db/queue/jobs.ts'
import { requestReconciliation } from '../../../src/reconciliation/runs.ts'
import { eraseCustomer } from '../../../src/start/tenants/erase-customer.ts'
import { setTenantDisabled } from '../../../src/db/tenants/tenants.ts'
import { postponeIfDue, recordAttemptIfDue } from '../../../src/webhooks/deliver-webhook.ts'
import {
  redeliverIfEnabled,
  replayFailedDeliveries,
} from '../../../src/db/webhooks/webhook-deliveries.ts'
import { insertTestEvent } from '../../../src/db/webhooks/webhook-endpoints.ts'
import { recordLogIn, recordLogOut } from '../../../src/http/console/sessions.ts'
import type { ProviderEvent } from '../../../src/domain/events/provider-event.ts'
import { captured, held } from '../../operations/made-payments.ts'
import { t } from '../../support/own-engine.ts'
import { endpoint, inOne, update, type Case } from './case.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
const delivery = { tenantId: '', id: '' }
let capturedId: string
let stored: ProviderEvent

const tokenHash = Buffer.alloc(32)
const ann = { name: 'ann', role: 'operator', key: 'adm_ann' } as const

const window = {
  provider: 'stripe',
  from: new Date(0),
  to: new Date(DAY_MS),
  requestedBy: 'ann',
}

beforeAll(async () => {
  const { sql } = t.engine.store
  const payment = await captured(t)
  capturedId = payment.paymentId
  for (const captureBefore of ['1 hour', '-1 hour']) {
    const { paymentId } = await held(t)
    await sql`
      update payments set capture_before = now() + ${captureBefore}::interval,
        expiry_step = ${captureBefore === '1 hour' ? 'announce' : 'look'}
      where id = ${paymentId}
    `
  }
  const [row] = await sql<{ id: string }[]>`
    select id from webhook_deliveries where endpoint_id = ${endpoint.id} order by id limit 1
  `
  Object.assign(delivery, { tenantId: t.tenantId, id: row?.id })
  stored = {
    provider: 'stripe',
    id: 'evt_stored',
    type: 'payment_intent.succeeded',
    about: 'payment',
    objectId: 'pi_1',
    providerPaymentId: 'pi_1',
    subject: payment,
    occurredAt: new Date(),
  }
  await storeProviderEvent(sql, stored)
})

const job = () => ({ tenantId: t.tenantId, deliveryId: delivery.id, attempt: 1 })
const attempt = () => ({
  id: randomUUIDv7(),
  startedAt: new Date(),
  latencyMs: 12,
  reply: { httpStatus: 410 },
  verdict: 'gone' as const,
  retryInSeconds: 5,
  failuresBefore: 0,
  disableAfterSeconds: 60,
})
export const otherCases: readonly Case[] = [
  {
    name: 'a webhook attempt that disables its endpoint',
    run: (sql) => recordAttemptIfDue(sql, job(), attempt()),
  },
  {
    name: 'a webhook attempt that succeeds after failures',
    before: update(`
      update webhook_endpoints set status = 'enabled', disabled_reason = null;
      update webhook_deliveries set attempts = 1, status = 'pending', next_attempt_at = now()
    `),
    run: (sql) =>
      recordAttemptIfDue(
        sql,
        { ...job(), attempt: 2 },
        {
          ...attempt(),
          reply: { httpStatus: 200 },
          verdict: 'succeeded',
          retryInSeconds: null,
        },
      ),
  },
  {
    name: 'a webhook attempt that waits for the end of a pause',
    before: update(`
      update webhook_endpoints set status = 'enabled', disabled_reason = null, paused_until = now();
      update webhook_deliveries set attempts = 0, status = 'pending', next_attempt_at = now()
    `),
    run: (sql) => postponeIfDue(sql, job(), 5),
  },
  {
    name: 'a delivery again',
    before: update(`
      update webhook_endpoints set paused_until = now() + interval '1 hour';
      update webhook_deliveries set status = 'failed', next_attempt_at = null
    `),
    run: inOne((tx) => redeliverIfEnabled(tx, delivery)),
  },
  {
    name: 'all failed deliveries again',
    before: update(`update webhook_endpoints set paused_until = now() + interval '1 hour'`),
    run: inOne((tx) => replayFailedDeliveries(tx, endpoint, new Date(0), 100)),
  },
  { name: 'a test event', run: inOne((tx) => insertTestEvent(tx, endpoint)) },
  {
    name: 'an event of the provider',
    run: (sql) => storeProviderEvent(sql, { ...stored, id: 'evt_new' }),
  },
  {
    name: 'an event of the provider again',
    run: inOne((tx) => requeueProviderEventUnlessApplied(tx, stored, PROVIDER_EVENTS_QUEUE)),
  },
  {
    name: 'an event of the provider without a job',
    before: update(`
      delete from atomic_jobs.job;
      update provider_events set received_at = now() - interval '1 day'
    `),
    run: (sql) => requeueStaleEvents(sql, 'stripe'),
  },
  {
    name: 'an early fraud warning',
    run: async (sql) => {
      const payment = await t.readPayment({ tenantId: t.tenantId, paymentId: capturedId })
      return await announceEarlyFraudWarning(sql, payment, { provider: 'stripe', objectId: 'w_1' })
    },
  },
  {
    name: 'a hold that ends soon',
    run: (sql) => announceIfExpiring(sql, 86_400),
  },
  { name: 'a hold that has ended', run: (sql) => lookIfExpired(sql) },
  {
    name: 'the deletion of old events of the provider',
    before: update(`
      update provider_events set status = 'ignored', settled_at = now() - interval '100 days'
      where id = 'evt_new'
    `),
    run: (sql) =>
      deleteOldProviderEvents(sql, { before: new Date(Date.now() - 90 * DAY_MS), limit: 10 }),
  },
  { name: 'a reconciliation', run: inOne((tx) => requestReconciliation(tx, window)) },
  {
    name: 'the erasure of a customer',
    before: () => update(`update payments set customer = 'cus_1' where id = '${capturedId}'`)(),
    run: inOne((tx) =>
      eraseCustomer(tx, { tenantId: t.tenantId, provider: 'stripe', customer: 'cus_1' }, 'ietf'),
    ),
  },
  { name: 'a log-in', run: (sql) => recordLogIn(sql, 1_800, tokenHash, ann) },
  { name: 'a log-out', run: (sql) => recordLogOut(sql, { operator: ann, tokenHash }) },
  { name: 'the end of a tenant', run: inOne((tx) => setTenantDisabled(tx, t.tenantId, true)) },
]
