// The figures of GET /admin/overview, and what GET /admin/providers shows.
import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Sql } from '../../../src/db/connection/client.ts'
import { deleteProcess, recordProcess } from '../../../src/start/process-reporter.ts'
import { showId } from '../../../src/domain/resource-id.ts'
import { providerNames } from '../../../src/provider/adapters.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import {
  makeAbandoned,
  makeCompleted,
  makeFailed,
  makeUnknown,
  shownId,
} from '../../support/admin.ts'
import { adminApi } from '../../support/for-file.ts'
import { until } from '../../support/until.ts'
import { lockTable } from '../rude-clients/locked-keys.ts'
import { expectProblem } from '../payments.ts'

const OVERVIEW = '/admin/overview'

const api = adminApi({ PROVIDER_KEY_WINDOW_SECONDS: '3600', PROVIDER_SETTLE_SECONDS: '90' })
let sql: Sql
/** The next reading after the one at the start of the test. */
let fresh: () => Promise<Record<string, unknown>>

beforeAll(async () => {
  ;({ sql } = api.t.engine.store)
})
beforeEach(async () => {
  await sql`delete from idempotency_keys`
  await sql`truncate phase_runs`
  const at = String((await api.get(OVERVIEW)).json['at'])
  fresh = () =>
    until(async () => {
      const { json } = await api.get(OVERVIEW)
      return json['at'] !== at && json
    })
})

test('has zeros and no times while nothing happens', async () => {
  expect(await fresh()).toMatchObject({
    object: 'overview',
    at: expect.any(String),
    rates: { accepted_per_second: 0, completed_per_second: 0, window_seconds: 10 },
    recovery: { takeovers: 0, p50_seconds: null, max_seconds: null, window_seconds: 3600 },
    unfinished: { pending: 0, processing: 0 },
    unknown: 0,
    proposed: 0,
    oldest_unfinished_seconds: 0,
    oldest_unknown_seconds: 0,
    findings_open: 0,
    queues: { operations: expect.any(Number) },
    dead_letters: { 'operations.dead': 0 },
    waiting_by_tenant: [],
    disputes: {},
    endpoints: { paused: 0, disabled: 0 },
    processes: [],
    circuits: [],
  })
})

test('counts what was accepted and completed in the last ten seconds', async () => {
  await makeCompleted(api)
  await makeCompleted(api)
  const { tenantId, paymentId } = await api.t.accept()
  await sql`
    insert into phase_runs (
      tenant_id, id, payment_id, operation_id, operation, reached, attempt, lease_epoch, started_at,
      recorded_at
    )
    values (
      ${tenantId}, ${randomUUID()}, ${paymentId}, ${randomUUID()}, 'payment.create', 'started', 0, 0,
      now(), now() - interval '11 seconds'
    )
  `

  expect(await fresh()).toMatchObject({
    rates: { accepted_per_second: 0.3, completed_per_second: 0.2 },
    unfinished: { pending: 1, processing: 0 },
  })
})

test('shows what is unknown, for how long, and which tenants wait', async () => {
  const other = randomUUID()
  await sql`insert into tenants (id, name) values (${other}, 'Other <shop>')`
  await makeUnknown(api)
  await api.t.accept()
  for (const key of ['key 1', 'key 2', 'key 3']) {
    await sql`
      insert into idempotency_keys (
        tenant_id, id, key, fingerprint, operation, expires_at, created_at
      )
      values (
        ${other}, ${randomUUID()}, ${key}, '\\x00', 'webhook_endpoint.create', now(),
        now() - interval '1 minute'
      )
    `
  }

  const overview = await fresh()

  expect(overview).toMatchObject({ unknown: 1, unfinished: { pending: 4 } })
  expect(overview['oldest_unfinished_seconds']).toBeGreaterThanOrEqual(60)
  expect(overview['waiting_by_tenant']).toEqual([
    { tenant: showId('tnt', other), name: 'Other <shop>', operations: 3 },
    { tenant: showId('tnt', api.t.tenantId), name: 'test', operations: 1 },
  ])
})

test('counts an operation whose worker died as a takeover, with the time that it stood still', async () => {
  const dead = await makeAbandoned(api)
  const begunAt = performance.now()
  await sql`
    update phase_runs set recorded_at = now() - interval '30 seconds'
    where operation_id = ${dead.id}
  `
  expect(await runOperation(api.t.engine, dead)).toBe('finished')

  const { takeovers, p50_seconds, max_seconds } = (await fresh())['recovery'] as Record<
    string,
    number
  >
  expect(takeovers).toBe(1)
  expect(p50_seconds).toBeGreaterThanOrEqual(30)
  expect(p50_seconds).toBeLessThan(30 + (performance.now() - begunAt) / 1_000)
  expect(max_seconds).toBe(p50_seconds)
})

test('counts no takeover when an operation without a final outcome is tried again', async () => {
  const failed = await makeFailed(api)
  expect((await api.post(`/admin/operations/${shownId(failed)}/resume`)).status).toBe(202)
  expect(await runOperation(api.t.engine, failed)).toBe('finished')

  expect(await fresh()).toMatchObject({ recovery: { takeovers: 0 } })
})

test('lists processes, those that report themselves and those that went silent', async () => {
  const [alive, killed, removed] = [randomUUID(), randomUUID(), randomUUID()]
  const circuits = [{ kind: 'provider', state: 'open', seconds: 5 }] as const
  const worker = { kind: 'worker', host: 'node-1', queues: ['payments'], version: '1.2.3' } as const
  for (const id of [alive, killed, removed]) {
    await recordProcess(sql, { id, ...worker }, 60, circuits)
  }
  await sql`
    update service_processes set seen_at = seen_at - interval '31 seconds' where id = ${killed}
  `
  await deleteProcess(sql, removed)

  const overview = await fresh()

  const process = {
    ...worker,
    started_at: expect.any(String),
    seen_at: expect.any(String),
  }
  expect(overview['processes']).toEqual([
    { ...process, id: alive, alive: true },
    { ...process, id: killed, alive: false },
  ])
  expect(overview['circuits']).toEqual([
    { kind: 'provider', state: 'open', process: alive, since: expect.any(String) },
  ])
})

test('shares one reading among all viewers for a second', async () => {
  const answers = await Promise.all([
    api.get(OVERVIEW, 'alice'),
    api.get(OVERVIEW, 'bob'),
    api.get(OVERVIEW, 'alice'),
  ])

  expect(new Set(answers.map(({ json }) => json['at'])).size).toBe(1)
})

test('answers 503 when the database needs longer than a second', async () => {
  const { locked, release } = await lockTable(api.t.engine, 'service_processes')
  const startedAt = performance.now()
  const answer = await until(async () => {
    const read = await api.get(OVERVIEW)
    return read.status !== 200 && read
  })

  expectProblem(answer, 'store-unavailable')
  expect(performance.now() - startedAt).toBeLessThan(6_000)
  release()
  await locked
})

test.each([`${OVERVIEW}?tenant=x`, `${OVERVIEW}?limit=1`, '/admin/providers?name=stripe'])(
  'refuses the parameter of %s',
  async (path) => expectProblem(await api.get(path), 'invalid-query'),
)

describe('GET /admin/providers', () => {
  test('shows what each provider declares, as the settings leave it', async () => {
    const { status, json } = await api.get('/admin/providers')

    expect(status).toBe(200)
    expect(json).toMatchObject({
      object: 'list',
      data: [
        {
          object: 'provider',
          name: 'stripe',
          is_default: true,
          key_window_seconds: 3_600,
          keeps_failures: true,
          settle_seconds: 90,
          look_up_lag_seconds: 0,
          authentication: true,
          minimum_amounts: { usd: 50 },
        },
        ...providerNames.slice(1).map((name) => ({ name, is_default: false })),
      ],
      has_more: false,
    })
  })
})
