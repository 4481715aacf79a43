// Tests workers that work on some groups of queues (WORKER_QUEUES), as real processes.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import pino from 'pino'
import { readConfig } from '../../src/config.ts'
import { wireEngine, wireWorkerBase } from '../../src/wiring.ts'
import { scrapeProcess } from '../alerts/recording.ts'
import { get, paymentBody, post, postPayment } from '../support/client.ts'
import { ENCRYPTION_KEYS } from '../support/encryption.ts'
import type { ServiceProcess } from '../support/processes.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import { until } from '../support/until.ts'

const NO_PROVIDER = { STRIPE_SECRET_KEY: '', STRIPE_API_BASE: '' }

let service: OwnService
let tenant: Tenant
let receiver: Receiver
const running: ServiceProcess[] = []

beforeAll(async () => {
  service = await startService({
    WEBHOOK_ALLOW_INSECURE: 'true',
    WORKER_QUEUES: 'webhooks',
    SWEEP_INTERVAL_MS: '100',
    ...NO_PROVIDER,
  })
  tenant = await service.createTenant()
  receiver = await startReceiver()
  await post(service.apiUrl, tenant, '/v1/webhook-endpoints', { url: receiver.url })
})

afterEach(async () => {
  await service.control('DELETE', 'faults')
  for (const worker of running.splice(0)) await stop(worker)
})

afterAll(async () => {
  await receiver.stop()
  await service.stop()
})

async function startWorker(queues: string, settings: Record<string, string> = {}) {
  const worker = await service.startWorker({ WORKER_QUEUES: queues, ...settings })
  running.push(worker)
  return worker
}

const withProvider = () => ({
  STRIPE_SECRET_KEY: 'sk_test_mock',
  STRIPE_API_BASE: service.providerUrl,
})

/** Each group works, and its process ends by itself in time. */
async function stop(worker: ServiceProcess): Promise<void> {
  worker.kill('SIGTERM')
  expect(await worker.exited).toEqual({ code: 0, signal: null })
}

async function accept(): Promise<{ key: string; id: string }> {
  const key = randomUUID()
  const headers = { prefer: 'respond-async' }
  const { status, json } = await postPayment(service.apiUrl, tenant, paymentBody(), {
    key,
    headers,
  })
  expect(status).toBe(202)
  return { key, id: String(json['id']) }
}

async function statusOf({ id }: { id: string }): Promise<unknown> {
  return (await get(service.apiUrl, tenant, `/v1/payments/${id}`)).json['status']
}

/** The types of the events that have arrived about a payment. */
function receivedAbout({ id }: { id: string }): string[] {
  return receiver.received
    .map(({ body }) => JSON.parse(body) as { type: string; data: { id?: string } })
    .filter(({ data }) => JSON.stringify(data).includes(id))
    .map(({ type }) => type)
}

async function applicationNames(): Promise<string[]> {
  const rows = await service.store.sql<{ name: string }[]>`
    select application_name as name from pg_stat_activity
    where datname = current_database() and application_name like 'atomic-payments worker%'
  `
  return [...new Set(rows.map(({ name }) => name))].toSorted()
}

async function tasksOf(worker: ServiceProcess): Promise<string[]> {
  const { samples } = await scrapeProcess(worker)
  const runs = 'atomic_payments_maintenance_duration_seconds_count'
  return samples.filter(({ name }) => name === runs).map(({ labels }) => labels['task'] ?? '')
}

/** Each task counts when its run ends, so that the first run of one may end after another's. */
async function ran(worker: ServiceProcess, tasks: readonly string[]): Promise<void> {
  await until(async () => {
    const counted = await tasksOf(worker)
    return tasks.every((task) => counted.includes(task))
  })
}

describe('a worker for webhooks', () => {
  let payment: { key: string; id: string }

  beforeAll(async () => {
    payment = await accept()
    await until(() => receivedAbout(payment).includes('payment.created'))
  })
  afterAll(() => stop(service.worker))

  test('delivers without a secret key and without a provider, and leaves payments', async () => {
    expect(await statusOf(payment)).toBe('processing')
    expect(await service.executedFor(payment)).toEqual([])
    expect(await tasksOf(service.worker)).toEqual([])
  })

  test('schedules no maintenance, and listens to no queue', async () => {
    const { sql } = service.store
    expect(await sql`select from atomic_jobs.schedule`).toHaveLength(0)
    const listening = await sql`
      select from pg_stat_activity
      where datname = current_database() and query ilike 'listen%'
        and application_name like 'atomic-payments worker%'
    `
    expect(listening).toHaveLength(0)
  })

  test('is told apart in the log, in PostgreSQL and in the metrics', async () => {
    const { worker } = service
    expect(worker.lines.some((line) => line.includes('"name":"worker webhooks"'))).toBe(true)
    const { samples } = await scrapeProcess(worker)
    expect(await applicationNames()).toEqual([
      'atomic-payments worker webhooks',
      'atomic-payments worker webhooks jobs',
    ])
    const groups = samples.filter(({ name }) => name === 'atomic_payments_worker_queues')
    expect(groups).toMatchObject([{ labels: { group: 'webhooks' }, value: 1 }])
  })
})

test('a worker for webhooks that could call a provider calls none, and leaves the settings of the other queues', async () => {
  const expiry = async () => {
    const rows = await service.store.sql<{ name: string; expire_seconds: number }[]>`
      select name, expire_seconds from atomic_jobs.queue
      where name in ('operations', 'webhook-deliveries')
    `
    return Object.fromEntries(rows.map((row) => [row.name, row.expire_seconds]))
  }
  const before = await expiry()
  const provider = await startReceiver()
  const STRIPE_API_BASE = new URL(provider.url).origin
  const times = { LEASE_MS: '600000', WEBHOOK_TIMEOUT_MS: '50000' }
  await startWorker('webhooks', { ...withProvider(), STRIPE_API_BASE, ...times })

  const payment = await accept()
  await until(() => receivedAbout(payment).includes('payment.created'))
  await provider.stop()

  expect(provider.received).toEqual([])
  expect(await expiry()).toEqual({ ...before, 'webhook-deliveries': 61 })
})

describe('a worker for payments', () => {
  test('completes payments, and leaves their webhooks and the maintenance to others', async () => {
    const worker = await startWorker('payments', withProvider())

    const payment = await accept()
    await until(async () => (await statusOf(payment)) === 'succeeded')
    expect(receivedAbout(payment)).toEqual([])
    expect(await tasksOf(worker)).toEqual([])

    await startWorker('webhooks')
    await until(() => receivedAbout(payment).includes('payment.succeeded'))
  })

  test('continues the payment of a crashed worker when its job has expired', async () => {
    const payment = await crashDuringCall()

    await startWorker('payments', withProvider())

    await until(async () => (await statusOf(payment)) === 'succeeded')
  })
})

/** Accepts a payment, and kills the worker that has sent its first call. */
async function crashDuringCall(): Promise<{ key: string; id: string }> {
  const worker = await service.startWorker({ WORKER_QUEUES: 'payments', ...withProvider() })
  const match = { path: '/v1/payment_intents' }
  await service.control('POST', 'faults', { match, fault: 'hang_after' })
  const payment = await accept()
  await until(async () => (await service.executedFor(payment)).length === 1)
  worker.kill('SIGKILL')
  await worker.exited
  return payment
}

describe('a worker for maintenance', () => {
  test('sweeps up after a crashed worker, and leaves the payment to a worker for payments', async () => {
    const payment = await crashDuringCall()

    const worker = await startWorker('maintenance', withProvider())
    const read = async () => (await get(service.apiUrl, tenant, keyPath)).json
    const keyPath = `/v1/idempotency-keys/${payment.key}`
    await until(async () => (await read())['status'] === 'pending')

    expect(await service.executedFor(payment)).toHaveLength(1)
    expect(receivedAbout(payment)).toEqual([])
    await ran(worker, ['sweep', 'check', 'reap'])
    await startWorker('payments', withProvider())
    await until(async () => (await statusOf(payment)) === 'succeeded')
  })
})

test('two workers for different groups are one for all of them', async () => {
  await startWorker('payments,maintenance', withProvider())
  await startWorker('webhooks')

  const payment = await accept()

  await until(() => receivedAbout(payment).includes('payment.succeeded'))
  expect(await applicationNames()).toEqual([
    'atomic-payments worker payments maintenance',
    'atomic-payments worker payments maintenance jobs',
    'atomic-payments worker webhooks',
    'atomic-payments worker webhooks jobs',
  ])
})

test('a worker for maintenance without a secret key does not start', async () => {
  const started = service.startWorker({ WORKER_QUEUES: 'maintenance' })
  await expect(started).rejects.toThrow('STRIPE_SECRET_KEY is not set')
})

test.each(['void.payment', 'idempotency_key.cancel'])(
  'a retention for %s, which has none, is a wrong setting',
  async (operation) => {
    const config = readConfig({
      DATABASE_URL: service.databaseUrl,
      ENCRYPTION_KEYS,
      ...withProvider(),
      KEY_RETENTION_SECONDS_BY_OPERATION: `refund.create=86400,${operation}=86400`,
    })
    const base = wireWorkerBase(config, pino({ level: 'silent' }))

    await expect(wireEngine(config, base)).rejects.toThrow(
      /KEY_RETENTION_SECONDS_BY_OPERATION names an unknown operation; there are payment\.create, /,
    )
    await base.store.close()
  },
)

test('an unknown group of queues is a wrong setting', () => {
  expect(() => readConfig({ WORKER_QUEUES: 'webhooks,payment' })).toThrow(
    'WORKER_QUEUES: must be all, or some of payments, webhooks and maintenance',
  )
})
