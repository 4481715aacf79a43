// Tests the metrics of the real processes, scraped over HTTP as by Prometheus.
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { openFindings } from '../../src/db/operations/findings.ts'
import { MAINTENANCE_QUEUE, WEBHOOKS_DEAD_LETTERS } from '../../src/db/queue/jobs.ts'
import { maintenanceTasks } from '../../workers/maintenance.ts'
import { showId } from '../../src/domain/resource-id.ts'
import { get, paymentBody, post, postPayment } from '../support/client.ts'
import { startProcess, type ServiceProcess } from '../support/processes.ts'
import { startService, type OwnService } from '../support/service.ts'
import { scrape, type Exposition } from './exposition.ts'
import { until } from '../support/until.ts'

let service: OwnService

beforeAll(async () => {
  // One attempt and no retry, so that an operation fails at once.
  service = await startService({
    CALL_ATTEMPTS: '1',
    JOB_RETRY_LIMIT: '0',
    PROVIDER_OUTAGE_SECONDS: '0',
  })
})

afterAll(async () => {
  await service.stop()
})

async function metricsOf(process: ServiceProcess): Promise<Exposition> {
  const line = await process.waitForLine((candidate) => candidate.includes('metrics at '))
  return await scrape(/metrics at ([^"\s]+)/.exec(line)?.[1] ?? '')
}

/** Scrapes until the condition holds or the test times out. */
async function scrapeUntil(
  process: ServiceProcess,
  holds: (exposition: Exposition) => boolean,
): Promise<Exposition> {
  return await until(async () => {
    const exposition = await metricsOf(process)
    return holds(exposition) && exposition
  })
}

const reserved = (exposition: Exposition, result: string) =>
  exposition.value('atomic_payments_reservations_total', { result }) ?? 0

describe('the API', () => {
  test('counts a payment, its replay, the misuse of its key and a decline by tenant', async () => {
    const tenant = await service.createTenant()
    const before = await metricsOf(service.api)
    const key = randomUUID()

    await postPayment(service.apiUrl, tenant, paymentBody(), { key })
    await postPayment(service.apiUrl, tenant, paymentBody(), { key })
    await postPayment(service.apiUrl, tenant, paymentBody({ amount: 5 }), { key })
    const declined = paymentBody({ payment_method: 'pm_card_chargeDeclined' })
    await postPayment(service.apiUrl, tenant, declined)
    // An operation without a provider call counts, too.
    const hook = { url: 'https://example.com/hook' }
    for (const _ of [1, 2]) {
      await post(service.apiUrl, tenant, '/v1/webhook-endpoints', hook, { key: 'hook' })
    }
    await postPayment(service.apiUrl, tenant, paymentBody({ amount: -1 }))

    const after = await metricsOf(service.api)
    const grown = (result: string) => reserved(after, result) - reserved(before, result)
    expect(grown('created')).toBe(3)
    expect(grown('replayed')).toBe(2)
    expect(grown('misuse')).toBe(1)
    const ofTenant = { tenant: showId('tnt', tenant.id) }
    expect(after.value('atomic_payments_tenant_requests_total', ofTenant)).toBe(6)
    expect(after.value('atomic_payments_tenant_duplicates_total', ofTenant)).toBe(2)
    expect(after.value('atomic_payments_tenant_misuse_total', ofTenant)).toBe(1)
  })

  test('counts rejections by rate limits', async () => {
    const tenant = await service.createTenant()
    const api = await service.startApi({
      RATE_LIMIT_WRITES: '1',
      RATE_LIMIT_WINDOW_SECONDS: '3600',
    })

    const answers = [await postPayment(api.url, tenant), await postPayment(api.url, tenant)]

    const refused = (reason: string, exposition: Exposition) =>
      exposition.value('atomic_payments_refusals_total', { reason })
    const after = await metricsOf(api.process)
    expect(answers.map(({ status }) => status)).toEqual([201, 429])
    expect(refused('rate-limited', after)).toBe(1)
    expect(refused('overloaded', after)).toBe(0)
    expect(after.value('atomic_payments_circuit_open', { circuit: 'store_reads' })).toBe(0)
  })

  test('distinguishes retries from duplicates of unknown and running operations', async () => {
    const tenant = await service.createTenant()
    const before = await metricsOf(service.api)
    const twice = async (fault: Record<string, unknown>, headers: Record<string, string> = {}) => {
      const key = randomUUID()
      await service.control('POST', 'faults', { match: { path: '/v1/payment_intents' }, ...fault })
      const first = await postPayment(service.apiUrl, tenant, paymentBody(), { key, headers })
      const second = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
      return [first.status, second.status]
    }

    const failed = await twice({ fault: 'rate_limited' })
    const unknown = await twice({ fault: 'nonsense_body' })
    const async = { prefer: 'respond-async' }
    const pending = await twice({ fault: 'delay', delay_ms: 5_000 }, async)

    expect([failed, unknown, pending]).toEqual([
      [503, 201],
      [202, 409],
      [202, 409],
    ])
    const after = await metricsOf(service.api)
    const grown = (result: string) => reserved(after, result) - reserved(before, result)
    expect(['created', 'retry', 'unknown', 'in_progress'].map(grown)).toEqual([3, 1, 1, 1])
    expect(grown('store_error')).toBe(0)
    const { value } = await metricsOf(service.worker)
    const givenBack = 'atomic_payments_operations_given_back_total'
    expect(value(givenBack, { status: 'failed_retryable' })).toBe(1)
    expect(value(givenBack, { status: 'unknown' })).toBe(1)
  })

  test('times requests by route and status class, never by path', async () => {
    const tenant = await service.createTenant()

    await get(service.apiUrl, tenant, `/v1/payments/pay_nothing`)
    await get(service.apiUrl, tenant, `/.env`)

    const { value, samples } = await metricsOf(service.api)
    const name = 'atomic_payments_http_request_duration_seconds_count'
    const missing = { method: 'GET', route: '/v1/payments/:id', status: '4xx' }
    expect(value(name, missing)).toBe(1)
    expect(value(name, { ...missing, route: 'none' })).toBe(1)
    const labels = samples.flatMap((sample) => Object.values(sample.labels))
    expect(labels.filter((label) => /pay_|\.env|sk_/.test(label))).toEqual([])
  })

  test('exports process metrics, but no gauges of the store', async () => {
    const { value, families } = await metricsOf(service.api)

    expect(value('process_resident_memory_bytes')).toBeGreaterThan(0)
    expect(families.has('atomic_payments_findings_open')).toBe(false)
  })
})

describe('the worker', () => {
  test('counts the outcomes of its calls and times each phase', async () => {
    const tenant = await service.createTenant()
    await postPayment(service.apiUrl, tenant, paymentBody())
    await postPayment(
      service.apiUrl,
      tenant,
      paymentBody({ payment_method: 'pm_card_chargeDeclined' }),
    )

    const { value } = await metricsOf(service.worker)

    const started = { operation: 'payment.create', phase: 'started' }
    const outcomes = 'atomic_payments_outcomes_total'
    expect(value(outcomes, { ...started, outcome: 'done' })).toBeGreaterThan(0)
    expect(value(outcomes, { ...started, outcome: 'declined' })).toBeGreaterThan(0)
    expect(value('atomic_payments_phase_duration_seconds_count', started)).toBeGreaterThan(1)
    expect(value('atomic_payments_leases_lost_total')).toBe(0)
  })

  test('counts the runs of every maintenance task with an interval', async () => {
    const name = 'atomic_payments_maintenance_duration_seconds_count'
    const ticking = maintenanceTasks.filter(({ intervalMs }) => intervalMs !== null)

    await scrapeUntil(service.worker, ({ value }) =>
      ticking.every(({ name: task }) => value(name, { task }) !== undefined),
    )
  })

  test('counts the reconciliations of the schedule, from 0', async () => {
    const name = 'atomic_payments_reconciliations_scheduled_total'
    expect((await metricsOf(service.worker)).value(name)).toBe(0)
    await service.store.sql`
      insert into atomic_jobs.job (name, data, policy)
      values (${MAINTENANCE_QUEUE}, '{"task": "reconcile"}', 'standard')
    `
    await scrapeUntil(service.worker, ({ value }) => value(name) === 1)
  })

  test('exports findings, dead letters and queue depth from the store', async () => {
    const before = await metricsOf(service.worker)
    expect(before.value('atomic_payments_findings_open')).toBeDefined()

    await openFindings(service.store.sql, [
      {
        provider: 'stripe',
        kind: 'missing_here',
        objectId: `pi_${randomUUIDv7()}`,
        runId: null,
        subject: null,
        ours: null,
        theirs: {},
      },
    ])
    await service.store.sql`
      insert into atomic_jobs.job (name, data, policy) values (${WEBHOOKS_DEAD_LETTERS}, '{}', 'standard')
    `

    const findingsBefore = before.value('atomic_payments_findings_open') ?? 0
    const queue = WEBHOOKS_DEAD_LETTERS
    await scrapeUntil(
      service.worker,
      ({ value }) =>
        value('atomic_payments_findings_open') === findingsBefore + 1 &&
        value('atomic_payments_dead_letters', { queue }) === 1 &&
        value('atomic_payments_queue_depth', { queue: 'operations' }) !== undefined &&
        value('atomic_payments_queue_depth', { queue }) === undefined,
    )
  })
})

test.each([
  ['src/start/api.ts', 'api'],
  ['workers/main.ts', 'worker'],
])('%s does not start when its metrics port is in use', async (script, name) => {
  const line = await service.api.waitForLine((candidate) => candidate.includes('metrics at '))
  const port = /:(\d+)\/metrics/.exec(line)?.[1] ?? ''

  const second = startProcess(script, {
    env: {
      DATABASE_URL: service.databaseUrl,
      STRIPE_SECRET_KEY: 'sk_test_mock',
      PORT: '0',
      METRICS_PORT: port,
    },
  })

  expect(await second.exited).toEqual({ code: 1, signal: null })
  const output = second.lines.join('\n')
  expect(output).toContain(`${name}: `)
  expect(output).toContain(`port ${port} is in use; set METRICS_PORT to another port`)
})
