import { describe, expect, test } from '@jest/globals'
import type { HealthFigures } from '../../src/metrics/store-gauges.ts'
import { createMetrics, type Metrics, definitions, PREFIX } from '../../src/metrics/metrics.ts'
import {
  apiCircuits,
  apiObserver,
  engineObserver,
  workerCircuits,
} from '../../src/metrics/observers.ts'
import { exportStoreGauges } from '../../src/metrics/store-gauges.ts'
import { parseExposition } from './exposition.ts'

const read = async (metrics: Metrics) => parseExposition(await metrics.scrape())

describe('the labels of tenants', () => {
  const ids = Array.from({ length: 5_000 }, (_, index) => `tnt_${index}`)
  const REQUESTS = 'atomic_payments_tenant_requests_total'

  test('limit the number of series, and add up', async () => {
    const metrics = createMetrics()
    const observer = apiObserver(metrics)

    for (const id of ids.slice(0, 150)) observer.reserved(id, 'created')
    observer.reserved('tnt_3', 'replayed')

    const { samples, value } = await read(metrics)
    expect(samples.filter(({ name }) => name === REQUESTS)).toHaveLength(101)
    expect(value(REQUESTS, { tenant: 'other' })).toBe(50)
    expect(value(REQUESTS, { tenant: 'tnt_3' })).toBe(2)
    expect(value('atomic_payments_tenant_duplicates_total', { tenant: 'tnt_3' })).toBe(1)
  })

  test('name the heaviest tenants, when lighter ones came first and come between', async () => {
    const metrics = createMetrics()
    const observer = apiObserver(metrics)
    for (const id of ids) observer.reserved(id, 'created')
    for (let round = 0; round < 60; round += 1) {
      for (const id of ids.slice(-10)) observer.reserved(id, 'created')
      for (const id of ids.slice(round * 50, round * 50 + 50)) observer.reserved(id, 'created')
    }

    const { samples } = await read(metrics)
    for (const name of [REQUESTS, REQUESTS.replace('requests', 'misuse')]) {
      const tenants = samples
        .filter((one) => one.name === name)
        .map(({ labels }) => labels['tenant'])
      expect(tenants).toEqual(expect.arrayContaining(ids.slice(-10)))
      expect(tenants.length).toBeLessThanOrEqual(101)
    }
  })

  test('change with the load, and not between tenants of equal weight', async () => {
    const metrics = createMetrics()
    const observer = apiObserver(metrics)
    const tenants = async () => {
      const { samples } = await read(metrics)
      return samples.filter(({ name }) => name === REQUESTS).map(({ labels }) => labels['tenant'])
    }
    const [old, equal, late] = [ids.slice(0, 100), ids.slice(100, 200), ids.slice(200, 300)]
    for (let round = 0; round < 30; round += 1) {
      for (const id of [...old, ...equal]) observer.reserved(id, 'created')
    }
    expect(await tenants()).toEqual(expect.arrayContaining(old))
    for (let round = 0; round < 200; round += 1) {
      for (const id of late) observer.reserved(id, 'created')
    }
    expect(await tenants()).toEqual(expect.arrayContaining(late))
    expect(await tenants()).toHaveLength(101)
  })

  test.each([
    ['created', 0],
    ['misuse', 0],
    ['store_error', 0],
    ['replayed', 1],
    ['in_progress', 1],
    ['retry', 1],
    ['unknown', 1],
    ['expired', 1],
  ] as const)('counts %s as %i duplicates', async (result, duplicates) => {
    const metrics = createMetrics()

    const tenant = 'tnt_1'

    apiObserver(metrics).reserved(tenant, result)

    const { value } = await read(metrics)
    expect(value('atomic_payments_tenant_duplicates_total', { tenant })).toBe(duplicates)
    const misuse = Number(result === 'misuse')
    expect(value('atomic_payments_tenant_misuse_total', { tenant })).toBe(misuse)
  })
})

test('counts events by type, and exports every type that a worker inserts as 0 before the first', async () => {
  const metrics = createMetrics()
  const observer = engineObserver(metrics)

  observer.insertedEvents('refund.failed', 1)
  observer.insertedEvents('payment.authorization_expiring', 250)

  const { value, samples } = await read(metrics)
  const counted = (type: string) => value('atomic_payments_events_total', { type })
  expect(counted('refund.failed')).toBe(1)
  expect(counted('payment.authorization_expiring')).toBe(250)
  expect(counted('dispute.created')).toBe(0)
  expect(counted('payment.early_fraud_warning')).toBe(0)
  const types = samples
    .filter(({ name }) => name === 'atomic_payments_events_total')
    .map(({ labels }) => labels['type'])
  expect(types).not.toContain('payment.created')
})

test('unknown methods and paths share one series', async () => {
  const metrics = createMetrics()
  const observer = apiObserver(metrics)

  for (const method of ['PROPFIND', 'BREW', 'PURGE']) {
    observer.served({ method, route: undefined, status: 404, seconds: 0.001 })
  }

  const { value } = await read(metrics)
  const labels = { method: 'other', route: 'none', status: '4xx' }
  expect(value('atomic_payments_http_request_duration_seconds_count', labels)).toBe(3)
})

test('exports every result as 0 before the first request, so that a rate includes the first one', async () => {
  const metrics = createMetrics()

  apiObserver(metrics)

  const { value } = await read(metrics)
  expect(value('atomic_payments_reservations_total', { result: 'store_error' })).toBe(0)
})

test.each([apiObserver, engineObserver])(
  'counts errors of the store by kind, and exports every kind as 0 before the first',
  async (observerOf) => {
    const metrics = createMetrics()
    const observer = observerOf(metrics)

    observer.storeFailed('unreachable')
    observer.storeFailed('unreachable')

    const { value } = await read(metrics)
    const counted = (kind: string) => value('atomic_payments_store_errors_total', { kind })
    expect(counted('unreachable')).toBe(2)
    expect(['timeout', 'exhausted', 'failed', 'conflict'].map(counted)).toEqual([0, 0, 0, 0])
  },
)

test('counts the work of a task by task and kind, and failed runs as failures', async () => {
  const metrics = createMetrics()
  const observer = engineObserver(metrics)

  observer.ranTask('sweep', 0.2, { resumed: 2, parked: 0 })
  observer.ranTask('sweep', 0.1, { resumed: 1, parked: 1 })
  observer.ranTask('sweep', 0.1, undefined)

  const { value } = await read(metrics)
  const task = 'sweep'
  expect(value('atomic_payments_maintenance_total', { task, what: 'resumed' })).toBe(3)
  expect(value('atomic_payments_maintenance_total', { task, what: 'parked' })).toBe(1)
  expect(value('atomic_payments_maintenance_duration_seconds_count', { task })).toBe(3)
  expect(value('atomic_payments_maintenance_failures_total', { task })).toBe(1)
})

test('keeps the metrics of two services in one process apart', async () => {
  const [one, other] = [createMetrics(), createMetrics()]

  one.count('leases_lost_total', {})

  expect((await read(one)).value('atomic_payments_leases_lost_total')).toBe(1)
  expect((await read(other)).value('atomic_payments_leases_lost_total')).toBe(0)
})

describe('the gauges of the store', () => {
  const figures: HealthFigures = {
    findingsOpen: 2,
    pending: 3,
    processing: 1,
    unknown: 0,
    oldestUnfinishedSeconds: 12.5,
    oldestUnknownSeconds: 0,
    queues: { operations: 4 },
    deadLetters: { 'operations.dead': 5 },
    disputes: { needs_response: 6 },
    pausedEndpoints: 7,
    disabledEndpoints: 8,
  }

  /** Exports gauges of a fake store, with a clock that the test sets. */
  function exportGauges(answer: () => Promise<HealthFigures>) {
    const metrics = createMetrics()
    const t = { metrics, reads: 0, nowMs: 1_000_000 }
    const readCounted = () => {
      t.reads += 1
      return answer()
    }
    exportStoreGauges(metrics, readCounted, () => t.nowMs)
    return t
  }

  test('have the values that were read', async () => {
    const { metrics } = exportGauges(() => Promise.resolve(figures))

    const { value } = await read(metrics)

    expect(value('atomic_payments_findings_open')).toBe(2)
    expect(value('atomic_payments_operations', { status: 'pending' })).toBe(3)
    expect(value('atomic_payments_operations', { status: 'unknown' })).toBe(0)
    expect(value('atomic_payments_oldest_unfinished_operation_seconds')).toBe(12.5)
    expect(value('atomic_payments_queue_depth', { queue: 'operations' })).toBe(4)
    expect(value('atomic_payments_dead_letters', { queue: 'operations.dead' })).toBe(5)
    expect(value('atomic_payments_disputes', { status: 'needs_response' })).toBe(6)
    expect(value('atomic_payments_webhook_endpoints_stopped', { state: 'paused' })).toBe(7)
    expect(value('atomic_payments_webhook_endpoints_stopped', { state: 'disabled' })).toBe(8)
  })

  test('are read once for all scrapes within five seconds', async () => {
    const t = exportGauges(() => Promise.resolve(figures))

    await Promise.all([t.metrics.scrape(), t.metrics.scrape()])
    t.nowMs += 4_999
    await t.metrics.scrape()
    expect(t.reads).toBe(1)
    t.nowMs += 1
    await t.metrics.scrape()

    expect(t.reads).toBe(2)
  })

  test('are not read again while a read hangs', async () => {
    let answer: (value: HealthFigures) => void = () => {}
    const t = exportGauges(() => new Promise((resolve) => (answer = resolve)))

    const first = t.metrics.scrape()
    t.nowMs += 60_000
    const second = t.metrics.scrape()
    answer(figures)
    await Promise.all([first, second])

    expect(t.reads).toBe(1)
  })

  test('are absent while the store does not answer, and return when it does', async () => {
    let up = true
    const t = exportGauges(() =>
      up ? Promise.resolve(figures) : Promise.reject(new Error('down')),
    )
    await t.metrics.scrape()

    up = false
    t.nowMs += 5_000
    const down = await read(t.metrics)
    up = true
    t.nowMs += 5_000
    const back = await read(t.metrics)

    const gauges = Object.entries(definitions)
      .filter(([, { kind }]) => kind === 'gauge')
      .map(([name]) => PREFIX + name)
    expect(gauges).toHaveLength(8)
    expect([...down.families.keys()]).toEqual(expect.arrayContaining(gauges))
    expect(down.samples.filter(({ name }) => gauges.includes(name))).toEqual([])
    expect(down.value('atomic_payments_leases_lost_total')).toBe(0)
    expect(back.value('atomic_payments_findings_open')).toBe(2)
  })
})

test('exports refusals and circuits as 0 before the first event, then as reported', async () => {
  const metrics = createMetrics()
  const api = apiObserver(metrics)
  const engine = engineObserver(metrics)
  const before = await read(metrics)

  api.refused('overloaded')
  api.turned('store_reservations', true)
  engine.turnedProvider(true)
  const during = await read(metrics)
  engine.turnedProvider(false)
  const after = await read(metrics)

  const refused = 'atomic_payments_refusals_total'
  const open = 'atomic_payments_circuit_open'
  expect(before.value(refused, { reason: 'overloaded' })).toBe(0)
  expect(before.value(open, { circuit: 'store_reservations' })).toBe(0)
  expect(before.value(open, { circuit: 'provider' })).toBe(0)
  expect(during.value(refused, { reason: 'overloaded' })).toBe(1)
  expect(during.value(refused, { reason: 'rate-limited' })).toBe(0)
  expect(during.value(open, { circuit: 'store_reservations' })).toBe(1)
  expect(during.value(open, { circuit: 'store_reads' })).toBe(0)
  expect(during.value(open, { circuit: 'provider' })).toBe(1)
  expect(after.value(open, { circuit: 'provider' })).toBe(0)
})

test('circuits are closed at first, and follow what the observers are told', () => {
  const [api, worker] = [apiCircuits(), workerCircuits(true)]
  const observeApi = apiObserver(createMetrics(), api)
  const observeEngine = engineObserver(createMetrics(), worker)
  expect([...api.read(), ...worker.read()]).toEqual([
    { kind: 'store_reads', state: 'closed', seconds: 0 },
    { kind: 'store_reservations', state: 'closed', seconds: 0 },
    { kind: 'provider', state: 'closed', seconds: 0 },
  ])

  observeApi.turned('store_reads', true)
  observeEngine.turnedProvider(true)
  expect([...api.read(), ...worker.read()].map(({ state }) => state)).toEqual([
    'open',
    'closed',
    'open',
  ])

  observeEngine.turnedProvider(false)
  expect(worker.read()).toMatchObject([{ state: 'closed' }])
})

test('a worker for webhooks alone has no circuit', () => {
  expect(workerCircuits(false).read()).toEqual([])
})
