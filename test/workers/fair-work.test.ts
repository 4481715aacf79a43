// Tests with the real processes that a tenant's backlogs, or its hanging endpoints, do not delay
// another tenant: its time beside its time alone. Times are compared as ratios, and the old order
// of creation would exceed each bound by far.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { storeProviderEvent } from '../../src/db/events/provider-events.ts'
import { PROVIDER_EVENTS_QUEUE, REMINDERS_QUEUE } from '../../src/db/queue/jobs.ts'
import { parsePaymentId } from '../../src/domain/payments/payment.ts'
import { eventAbout, type Named } from '../operations/follow-payment/provider-events.ts'
import { post, postPayment, paymentBody } from '../support/client.ts'
import { ownService } from '../support/for-file.ts'
import { startReceiver, status, type Receiver } from '../support/receiver.ts'
import type { Tenant } from '../support/service.ts'
import { until } from '../support/until.ts'

const PROVIDER_MS = 1_000
const RECEIVER_TIMEOUT_MS = 6_000
const CONCURRENCY = 8
/** An endpoint has at most a quarter of the slots. */
const PER_ENDPOINT = CONCURRENCY / 4

const service = ownService({
  PROVIDER_TIMEOUT_MS: '8000',
  LEASE_MS: '20000',
  WAIT_SECONDS: '0',
  WORKER_CONCURRENCY: String(CONCURRENCY),
  WEBHOOK_CONCURRENCY: String(CONCURRENCY),
  WEBHOOK_TIMEOUT_MS: String(RECEIVER_TIMEOUT_MS),
  WEBHOOK_ALLOW_INSECURE: 'true',
  PROVIDER_READS_PER_SECOND: '0',
})
let noisy: Tenant
let neighbour: Tenant

beforeEach(async () => {
  noisy = await service.createTenant()
  neighbour = await service.createTenant()
})
// The backlog that is left would take the time of the next test.
afterEach(async () => {
  await service.store.sql`delete from atomic_jobs.job where state < 'active'`
  await service.control('DELETE', 'faults')
})

async function accept(tenant: Tenant, count: number): Promise<void> {
  const headers = { prefer: 'respond-async' }
  const one = async () => {
    const { status: code } = await postPayment(service.apiUrl, tenant, paymentBody(), { headers })
    expect(code).toBe(202)
  }
  for (let sent = 0; sent < count; sent += 50) {
    await Promise.all(Array.from({ length: Math.min(50, count - sent) }, one))
  }
}

async function secondsFor(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return (performance.now() - startedAt) / 1_000
}

test('a backlog of one tenant does not delay the payment of another', async () => {
  await service.control('POST', 'faults', {
    match: { method: 'POST' },
    fault: 'delay',
    delay_ms: PROVIDER_MS,
    times: 1_000,
  })
  const pay = async () => {
    const headers = { prefer: 'wait=30' }
    const answer = await postPayment(service.apiUrl, neighbour, paymentBody(), { headers })
    expect(answer.status).toBe(201)
  }
  const alone = await secondsFor(pay)
  await accept(noisy, 100)

  const beside = [await secondsFor(pay), await secondsFor(pay)]

  const [row] = await service.store.sql<{ waiting: number }[]>`
    select count(*)::int as waiting from atomic_jobs.job where name = 'operations' and state < 'active'
  `
  expect(row?.waiting).toBeGreaterThan(40)
  for (const seconds of beside) expect(seconds).toBeLessThan(2 * alone + PROVIDER_MS / 1_000)
})

describe.each([PROVIDER_EVENTS_QUEUE, REMINDERS_QUEUE])('a backlog of %s', (queue) => {
  const READ_MS = 250
  const BACKLOG = 400
  /** The workers look for reminders every two seconds. */
  const POLL_SECONDS = 2

  /** A payment that waits for its cardholder: each event about it is one lookup at the provider. */
  async function waitingPayment(tenant: Tenant): Promise<Named> {
    const body = paymentBody({ payment_method: 'pm_card_threeDSecure2Required' })
    const headers = { prefer: 'wait=30' }
    const { json } = await postPayment(service.apiUrl, tenant, body, { headers })
    expect(json).toMatchObject({ status: 'requires_action' })
    const { id, provider } = json as { id: string; provider: { payment_id: string } }
    const paymentId = parsePaymentId(id) ?? ''
    return { tenantId: tenant.id, id: paymentId, providerPaymentId: provider.payment_id }
  }

  async function storeEvents(payment: Named, count: number): Promise<void> {
    const { sql } = service.store
    const one = () => storeProviderEvent(sql, eventAbout(payment), queue)
    for (let stored = 0; stored < count; stored += 50) {
      await Promise.all(Array.from({ length: Math.min(50, count - stored) }, one))
    }
  }

  async function openEvents({ tenantId }: Named): Promise<number> {
    const [row] = await service.store.sql<{ open: number }[]>`
      select count(*)::int as open from provider_events
      where tenant_id = ${tenantId} and status = 'pending' and type = 'payment_intent.amount_capturable_updated'
    `
    return row?.open ?? 0
  }

  test('of one tenant does not delay the events of another', async () => {
    const [noise, payment] = [await waitingPayment(noisy), await waitingPayment(neighbour)]
    const fault = { match: { method: 'GET' }, fault: 'delay', delay_ms: READ_MS, times: 10_000 }
    await service.control('POST', 'faults', fault)
    const apply = async () => {
      await storeEvents(payment, 1)
      await until(async () => (await openEvents(payment)) === 0)
    }
    const alone = await secondsFor(apply)
    await storeEvents(noise, BACKLOG)

    const beside = await secondsFor(apply)

    expect(await openEvents(noise)).toBeGreaterThan(BACKLOG / 4)
    expect(beside).toBeLessThan(2 * alone + POLL_SECONDS)
  })
})

describe('hanging endpoints', () => {
  let receiver: Receiver

  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.stop())

  async function addEndpoint(tenant: Tenant, path: string): Promise<void> {
    const body = { url: `${receiver.url}/${path}` }
    const answer = await post(service.apiUrl, tenant, '/v1/webhook-endpoints', body)
    expect(answer.status).toBe(201)
  }

  const receivedAt = (path: string) => receiver.received.filter((got) => got.path.endsWith(path))

  test('keep few slots when they begin to hang, and leave the others', async () => {
    const heard = (path: string) => receivedAt(path).length
    receiver.answer = (response, request) => {
      const isHanging = request.path.endsWith('it/turns') && heard('it/turns') > 40
      if (!isHanging) setTimeout(() => status(204)(response, request), 300)
    }
    await addEndpoint(noisy, 'it/turns')
    await accept(noisy, 50)
    await until(() => heard('it/turns') >= 40 + PER_ENDPOINT)
    await addEndpoint(noisy, 'it/stays')
    await accept(noisy, 1)

    const seconds = await secondsFor(() => until(() => heard('it/stays') >= 1))

    // The workers look for webhooks every two seconds.
    expect(seconds).toBeLessThan((RECEIVER_TIMEOUT_MS - 1_000) / 1_000)
  })

  test('hold few slots, and leave the others to the same tenant', async () => {
    let open = 0
    let most = 0
    receiver.answer = (response, request) => {
      if (!request.path.endsWith('/hang')) return status(204)(response, request)
      open += 1
      most = Math.max(most, open)
      response.once('close', () => (open -= 1))
    }
    await addEndpoint(noisy, 'only/hang')
    await addEndpoint(noisy, 'only/fine')
    const hear = async () => {
      await accept(noisy, 10)
      await until(() => receivedAt('only/fine').length === 20)
    }

    await hear()

    expect(receivedAt('only/hang').length).toBeLessThan(20)
    expect(most).toBe(PER_ENDPOINT)
  })

  test('of one tenant do not delay the webhook of another', async () => {
    receiver.answer = (response, request) => {
      if (!request.path.endsWith('/hang')) status(204)(response, request)
    }
    for (let hanging = 0; hanging < 20; hanging += 1) await addEndpoint(noisy, `${hanging}/hang`)
    await addEndpoint(neighbour, 'fine')
    const payAndHear = async () => {
      const before = receivedAt('/fine').length
      await accept(neighbour, 1)
      await until(() => receivedAt('/fine').length >= before + 2)
    }
    const alone = await secondsFor(payAndHear)
    await accept(noisy, 5)
    await until(() => receivedAt('/hang').length >= CONCURRENCY)

    const beside = await secondsFor(payAndHear)

    // The workers look for webhooks every two seconds.
    expect(beside).toBeLessThan(2 * alone + 2)
    expect(beside).toBeLessThan(RECEIVER_TIMEOUT_MS / 1_000)
  })
})
