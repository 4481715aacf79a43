// Each transaction of several statements is made with an error after each of its statements, and after
// the last one. Nothing of it is left.
import { randomBytes, randomUUIDv7 } from 'node:crypto'
import { beforeAll, expect, test } from '@jest/globals'
import type { Sql, Transaction } from '../../src/db/connection/client.ts'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { announceEarlyFraudWarning } from '../../src/db/events/early-fraud-warnings.ts'
import { storeProviderEvent } from '../../src/db/events/provider-events.ts'
import { requeueStaleEvents } from '../../src/db/events/stale-provider-events.ts'
import { announceIfExpiring, lookIfExpired } from '../../src/db/payments/expiring-payments.ts'
import { requeueProviderEventUnlessApplied } from '../../src/db/queue/dead-letters.ts'
import { PROVIDER_EVENTS_QUEUE } from '../../src/db/queue/queues.ts'
import { requestReconciliation } from '../../src/db/reconciliation/reconciliation-runs.ts'
import { eraseCustomer } from '../../src/db/retention/erased-customers.ts'
import { deleteOldProviderEvents } from '../../src/db/retention/old-provider-events.ts'
import { setTenantDisabled } from '../../src/db/tenants/tenants.ts'
import { postponeIfDue, recordAttemptIfDue } from '../../src/db/webhooks/webhook-attempts.ts'
import {
  redeliverIfEnabled,
  replayFailedDeliveries,
} from '../../src/db/webhooks/webhook-deliveries.ts'
import { insertEndpoint, insertTestEvent } from '../../src/db/webhooks/webhook-endpoints.ts'
import type { ProviderEvent } from '../../src/domain/events/provider-event.ts'
import { captured, held } from '../operations/made-payments.ts'
import { t } from '../support/own-engine.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
const endpoint = { tenantId: '', id: randomUUIDv7() }
const delivery = { tenantId: '', id: '' }
let capturedId: string
let stored: ProviderEvent

const window = {
  provider: 'stripe',
  from: new Date(0),
  to: new Date(DAY_MS),
  requestedBy: 'ann',
}

beforeAll(async () => {
  const { sql } = t.engine.store
  const { tenantId } = t
  endpoint.tenantId = tenantId
  const fields = { tenantId, description: null, eventTypes: ['*'] }
  for (const id of [endpoint.id, randomUUIDv7()]) {
    const secret = `whsec_${randomBytes(32).toString('base64')}`
    const made = { ...fields, id, url: `https://${id}.example/`, secret }
    await sql.begin((tx) => insertEndpoint(tx, made))
  }
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
  Object.assign(delivery, { tenantId, id: row?.id })
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
const inOne = (work: (tx: Transaction) => Promise<unknown>) => (sql: Sql) =>
  inTransaction(sql, work)
const update = (text: string) => () => t.engine.store.sql.unsafe(text)

interface Case {
  readonly name: string
  readonly before?: () => Promise<unknown>
  readonly run: (sql: Sql) => Promise<unknown>
}

const cases: readonly Case[] = [
  {
    name: 'a webhook attempt that disables its endpoint',
    run: (sql) => recordAttemptIfDue(sql, job(), attempt()),
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
    run: (sql) => requeueStaleEvents(sql, 'stripe', 'reminder'),
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
    run: (sql) => announceIfExpiring(sql, { noticeSeconds: 86_400, limit: 10 }),
  },
  { name: 'a hold that has ended', run: (sql) => lookIfExpired(sql, { limit: 10 }) },
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
    before: update(`update payments set customer = 'cus_1'`),
    run: inOne((tx) =>
      eraseCustomer(tx, { tenantId: t.tenantId, provider: 'stripe', customer: 'cus_1' }, 'ietf'),
    ),
  },
  { name: 'the end of a tenant', run: inOne((tx) => setTenantDisabled(tx, t.tenantId, true)) },
]

/** All rows of all tables. */
async function allRows(): Promise<unknown> {
  const { sql } = t.engine.store
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname = 'public' or (schemaname, tablename) = ('atomic_jobs', 'job_common')
  `
  const selects = tables.map(
    ({ name }) =>
      `select '${name}' as name, string_agg(r::text, e'\\n' order by r::text) as rows from ${name} as r`,
  )
  return await sql.unsafe(selects.join(' union all '))
}

class StruckError extends Error {}

/** Fails when a transaction has made so many templates, or before its commit. */
function failing(own: Sql, templates: number) {
  let made = 0
  let hasEnded = false
  const ofTransaction = (tx: Transaction) =>
    new Proxy(tx, {
      apply(target, self, [text, ...values]: [unknown, ...unknown[]]) {
        if (Array.isArray(text) && made === templates) throw new StruckError()
        made += 1
        return Reflect.apply(target, self, [text, ...values]) as unknown
      },
    })
  const begin = (work: (tx: Transaction) => Promise<unknown>) =>
    own.begin(async (tx) => {
      await work(ofTransaction(tx))
      hasEnded = true
      throw new StruckError()
    })
  const sql = new Proxy(own, {
    get: (target, name) => (name === 'begin' ? begin : (Reflect.get(target, name) as unknown)),
  })
  return { sql, hasEnded: () => hasEnded }
}

test.each(cases)('$name', async ({ before, run }) => {
  await before?.()
  const { sql } = t.engine.store
  const rows = await allRows()
  let hasEnded = false
  for (let templates = 0; !hasEnded; templates += 1) {
    const struck = failing(sql, templates)
    await expect(run(struck.sql)).rejects.toThrow(StruckError)
    expect(await allRows()).toEqual(rows)
    hasEnded = struck.hasEnded()
  }

  await run(sql)

  expect(await allRows()).not.toEqual(rows)
})
