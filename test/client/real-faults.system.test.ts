// The client against the real service while a part of it, or the network, fails.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { payAndWait } from '../../client/examples/pay-and-wait.ts'
import type { Order } from '../../client/examples/settings.ts'
import { createClient, newIdempotencyKey, type Client } from '../../client/index.ts'
import type { Retry, RetryOptions } from '../../client/retry.ts'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../dev/embedded-postgres/postgres.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { startService, type OwnService, type Service, type Tenant } from '../support/service.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { startFaultyProxy, type FaultyProxy } from './faulty-proxy.ts'
import { expectOneCharge } from './expect-one-charge.ts'

// One test stops PostgreSQL, so this file has its own server.
let directory: string
let postgres: EmbeddedPostgres
let service: OwnService
let proxy: FaultyProxy
let tenant: Tenant
let order: Order
let retries: Retry[]

const startPostgres = (port?: number) =>
  startEmbeddedPostgres({
    directory,
    durable: true,
    ...(port === undefined ? {} : { port }),
    log: () => {},
  })

beforeAll(async () => {
  directory = join(await makeTemporaryFolder(), 'postgres')
  postgres = await startPostgres()
  const databaseUrl = postgres.url('postgres')
  await migrateDatabase(databaseUrl)
  const settings = {
    STORE_TIMEOUT_MS: '1000',
    // Short, so that the tests see both 202 and 409.
    WAIT_SECONDS: '1',
    WAIT_MAX_SECONDS: '1',
    // The service does not retry provider calls, so that the client has to.
    CALL_ATTEMPTS: '1',
    JOB_RETRY_LIMIT: '0',
    PROVIDER_TIMEOUT_MS: '5000',
    LEASE_MS: '10000',
    PROVIDER_OUTAGE_SECONDS: '0',
  }
  service = await startService(settings, databaseUrl)
})

beforeEach(async () => {
  proxy = await startFaultyProxy(service.apiUrl)
  tenant = await service.createTenant()
  order = { id: randomUUID(), amount: 1999, paymentMethod: 'pm_card_visa' }
  retries = []
})

afterEach(async () => {
  service.worker.kill('SIGCONT')
  await proxy.stop()
  await expectLedgerBalanced(service.store)
})

afterAll(async () => {
  try {
    await service.stop()
  } finally {
    await postgres.stop()
  }
})

function clientWith(onRetry: RetryOptions['onRetry'] = () => {}): Client {
  const note = (retry: Retry) => {
    retries.push(retry)
    onRetry(retry)
  }
  // Every fault here ends, but on a busy machine it may take long.
  const retry = { baseDelayMs: 20, maxDelayMs: 200, maxFailures: 1_000, onRetry: note }
  return createClient({ baseUrl: proxy.url, apiKey: tenant.apiKey, retry })
}

/** The distinct reasons of the retries, in order. */
function reasons(): (number | string | undefined)[] {
  const named = retries.map(({ after }) =>
    after.kind === 'answer' ? (after.problem ?? after.status) : after.kind,
  )
  return [...new Set(named)]
}

test('waits through 202 and 409 while the worker is stopped, and pays once', async () => {
  service.worker.kill('SIGSTOP')
  const client = clientWith(() => service.worker.kill('SIGCONT'))

  const payment = await payAndWait(client, order, newIdempotencyKey())

  expect(payment.status).toBe('succeeded')
  expect(reasons()).toEqual(['operation-in-progress'])
  await expectOneCharge(service, tenant, order.id)
})

test('pays once when connections break before and after the request arrives', async () => {
  proxy.faults.push('lose', 'cut', 'lose', 'cut')

  const payment = await payAndWait(clientWith(), order, newIdempotencyKey())

  expect(payment.status).toBe('succeeded')
  expect(proxy.applied).toEqual(['lose', 'cut', 'lose', 'cut'])
  expect(reasons()[0]).toBe('no_answer')
  await expectOneCharge(service, tenant, order.id)
})

test('pays once when the API is killed during the wait and restarts at another URL', async () => {
  const killedApi = await service.startApi()
  proxy.target = killedApi.url
  service.worker.kill('SIGSTOP')
  let successor: ReturnType<Service['startApi']> | undefined
  const client = clientWith(({ after }) => {
    if (after.kind === 'answer' && successor === undefined) killedApi.process.kill('SIGKILL')
    if (after.kind === 'answer') return
    successor ??= service.startApi().then((started) => {
      proxy.target = started.url
      service.worker.kill('SIGCONT')
      return started
    })
  })

  const payment = await payAndWait(client, order, newIdempotencyKey())

  const { process: last } = (await successor) as Awaited<ReturnType<Service['startApi']>>
  last.kill('SIGTERM')
  await last.exited
  expect(payment.status).toBe('succeeded')
  expect(reasons()).toEqual(expect.arrayContaining(['operation-in-progress', 'no_answer']))
  await expectOneCharge(service, tenant, order.id)
})

test('charges once when the provider refuses the first call', async () => {
  await service.control('POST', 'faults', { match: {}, fault: 'rate_limited' })

  const payment = await payAndWait(clientWith(), order, newIdempotencyKey())

  expect(payment.status).toBe('succeeded')
  expect(reasons()).toEqual(['provider-unavailable'])
  await expectOneCharge(service, tenant, order.id)
})

test('retries 503 until PostgreSQL is back, and pays once', async () => {
  await postgres.stop('immediate')
  let restarted: Promise<EmbeddedPostgres> | undefined
  const client = clientWith(() => {
    restarted ??= startPostgres(postgres.port)
  })

  const payment = await payAndWait(client, order, newIdempotencyKey())

  postgres = (await restarted) as EmbeddedPostgres
  expect(payment.status).toBe('succeeded')
  expect(reasons()[0]).toBe('store-unavailable')
  await expectOneCharge(service, tenant, order.id)
})
