import { beforeAll, describe, expect, test } from '@jest/globals'
import { readHealthFigures } from '../../src/metrics/store-gauges.ts'
import { OPERATIONS_QUEUE, WEBHOOKS_QUEUE } from '../../src/db/queue/jobs.ts'
import { explain } from '../support/explain.ts'
import { t } from '../support/own-engine.ts'

const figures = () => readHealthFigures(t.engine.store.sql)

test('counts unfinished operations, and tells the age of the oldest', async () => {
  const { sql } = t.engine.store
  const [pending, processing, unknown] = [await t.accept(), await t.accept(), await t.accept()]
  await sql`
    update idempotency_keys set created_at = now() - interval '90 seconds'
    where id = ${pending.id}
  `
  await sql`
    update idempotency_keys set
      status = 'processing', lease_expires_at = now() + interval '1 minute'
    where id = ${processing.id}
  `
  await sql`
    update idempotency_keys set
      status = 'unknown', in_doubt = true, unknown_at = now() - interval '2 hours'
    where id = ${unknown.id}
  `

  const read = await figures()

  expect(read).toMatchObject({ pending: 1, processing: 1, unknown: 1 })
  expect(Math.floor(read.oldestUnfinishedSeconds / 10)).toBe(9)
  expect(Math.floor(read.oldestUnknownSeconds / 60)).toBe(120)
  expect(read.queues[OPERATIONS_QUEUE]).toBe(3)
})

test('counts neither jobs that are not due nor active ones', async () => {
  const { sql } = t.engine.store
  const before = (await figures()).queues[WEBHOOKS_QUEUE] ?? 0
  await sql`
    insert into atomic_jobs.job (name, data, policy, state, start_after) values
      (${WEBHOOKS_QUEUE}, '{}', 'standard', 'created', now()),
      (${WEBHOOKS_QUEUE}, '{}', 'standard', 'retry', now()),
      (${WEBHOOKS_QUEUE}, '{}', 'standard', 'created', now() + interval '1 hour'),
      (${WEBHOOKS_QUEUE}, '{}', 'standard', 'active', now()),
      (${WEBHOOKS_QUEUE}, '{}', 'standard', 'completed', now())
  `

  expect((await figures()).queues[WEBHOOKS_QUEUE]).toBe(before + 2)
})

test('counts endpoints that are paused or disabled, and no deleted ones', async () => {
  const { sql } = t.engine.store
  await sql`
    insert into webhook_endpoints (
      tenant_id, id, slot, url, event_types, secret, status, disabled_reason, paused_until
    )
    select ${t.tenantId}, gen_random_uuid(), slot, 'https://shop.example/', '{"*"}', secret, status,
      reason, case when paused then now() end
    from (values
      (1, 's', 'enabled', null, false), (2, 's', 'enabled', null, true),
      (3, 's', 'disabled', 'failing', true), (4, 's', 'disabled', 'requested', false),
      (null, null, 'deleted', null, true)
    ) as made (slot, secret, status, reason, paused)
  `

  expect(await figures()).toMatchObject({ pausedEndpoints: 1, disabledEndpoints: 2 })
})

describe('with very many completed keys', () => {
  beforeAll(async () => {
    const { sql } = t.engine.store
    await sql`
      insert into idempotency_keys (
        tenant_id, id, key, fingerprint, operation, status, recovery_point, finished_at,
        response_status, response_headers, response_body, expires_at
      )
      select
        gen_random_uuid(), gen_random_uuid(), 'finished ' || number, '\\x00',
        'webhook_endpoint.create', 'completed', 'finished', now(), 201, '{}', '{}', now()
      from generate_series(1, 10000) as number
    `
    await sql`analyze idempotency_keys`
  })

  test('scans only partial indexes', async () => {
    const { sql } = t.engine.store

    const nodes = await explain(sql, /^\s*select\s+(count|\(count)/, readHealthFigures)

    const scanned = nodes.filter((node) => node['Relation Name'] === 'idempotency_keys')
    expect(scanned.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    expect(scanned.every((node) => node['Actual Rows'] < 10)).toBe(true)
    const indexes = nodes.flatMap((node) => node['Index Name'] ?? [])
    const ofKeys = indexes.filter((name) => name.startsWith('idempotency_keys'))
    expect(ofKeys).toHaveLength(2)
    expect(ofKeys).toContain('idempotency_keys_unfinished')
    // One of the two indexes of unknown outcomes.
    expect(ofKeys.join()).toMatch(/idempotency_keys_(to_check|unknown_payment)/)
  })
})

test('counts the disputes that are not closed, by status', async () => {
  const { sql } = t.engine.store
  const { tenantId, paymentId } = await t.accept()
  for (const status of ['needs_response', 'needs_response', 'lost']) {
    await sql`
      insert into disputes (
        tenant_id, id, payment_id, provider_dispute_id, amount_minor, currency, reason, status,
        opened_at
      )
      values (
        ${tenantId}, gen_random_uuid(), ${paymentId}, gen_random_uuid(), 1, 'usd', 'fraudulent',
        ${status}, now()
      )
    `
  }

  expect((await figures()).disputes).toEqual({ needs_response: 2 })
})
