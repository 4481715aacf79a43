// Answers to keyed requests whose operation is not completed, and how their clients get the result.
import { randomUUID } from 'node:crypto'
import { afterEach, expect, test } from '@jest/globals'
import { get, paymentBody, postPayment } from '../../support/client.ts'
import { expectLedgerBalanced } from '../../support/ledger.ts'
import { until } from '../../support/until.ts'
import { ONE_TRY, ownService, tenantOf } from '../../support/for-file.ts'

const service = ownService({
  ...ONE_TRY,
  CHECK_ON_READ_SECONDS: '1',
  BREAKER_OPEN_MS: '7000',
})

const tenant = tenantOf(service)

afterEach(() => service.control('DELETE', 'faults'))

afterEach(() => expectLedgerBalanced(service.store))

const post = (key: string, headers: Record<string, string> = {}) =>
  postPayment(service.apiUrl, tenant, paymentBody(), { key, headers })

const isAccepted = async (key: string) =>
  (await get(service.apiUrl, tenant, `/v1/idempotency-keys/${key}`)).status === 200

test('returns 503 while the provider refuses everything, and the next retry runs the operation again', async () => {
  const key = randomUUID()
  await service.control('POST', 'faults', { match: {}, fault: 'rate_limited' })
  const failed = await post(key)
  const read = await get(service.apiUrl, tenant, `/v1/idempotency-keys/${key}`)
  const retried = await post(key)
  const replayed = await post(key)

  expect(failed.status).toBe(503)
  expect(failed.json['type']).toBe('/problems/provider-unavailable')
  // The circuit of the provider may be open for BREAKER_OPEN_MS.
  expect(failed.headers.get('retry-after')).toMatch(/^[78]$/)
  expect(read.json).toMatchObject({ status: 'failed_retryable', recovery_point: 'started' })
  expect(retried.status).toBe(201)
  expect(retried.headers.has('idempotent-replayed')).toBe(false)
  expect(replayed.text).toBe(retried.text)
  expect(await service.executedFor(retried.json as { id: string })).toHaveLength(2)
})

test('a retry that prefers not to wait reopens a failed operation, too', async () => {
  const key = randomUUID()
  await service.control('POST', 'faults', { match: {}, fault: 'rate_limited' })
  await post(key)
  const reopened = await post(key, { prefer: 'respond-async' })
  const final = await post(key, { prefer: 'wait=20' })

  expect(reopened.status).toBe(202)
  expect(reopened.json).toMatchObject({ status: 'processing' })
  expect(final.status).toBe(201)
})

test('an unknown outcome returns 202 for the first request, and 409 without an execution for a retry', async () => {
  const key = randomUUID()
  const match = { path: '/v1/payment_intents' }
  await service.control('POST', 'faults', { match, fault: 'nonsense_body' })
  const first = await post(key)
  const retry = await post(key)
  const waiting = await post(key, { prefer: 'wait=5' })

  expect(first.status).toBe(202)
  expect(first.json).toMatchObject({ status: 'unknown' })
  for (const answer of [retry, waiting]) {
    expect(answer.status).toBe(409)
    expect(answer.json['type']).toBe('/problems/outcome-unknown')
    // The outcome is looked up after CHECK_DELAYS_SECONDS.
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(3_500)
  }
  const executed = await service.executedFor(first.json as { id: string })
  expect(executed.map(({ kind }) => kind)).toEqual(['payment_intent.create'])
})

test('an unknown payment is looked up when it is read, and completed', async () => {
  const key = randomUUID()
  const match = { path: '/v1/payment_intents' }
  await service.control('POST', 'faults', { match, fault: 'nonsense_body' })
  const first = await post(key)
  const path = `/v1/payments/${String(first.json['id'])}`
  const read = await get(service.apiUrl, tenant, path)
  const status = await until(async () => {
    const { json } = await get(service.apiUrl, tenant, path)
    return json['status'] !== 'unknown' && json['status'] !== 'processing' && json['status']
  })

  const retry = await post(key, { prefer: 'wait=20' })

  expect(read.json).toMatchObject({ status: 'unknown' })
  expect(status).toBe('succeeded')
  expect(retry.status).toBe(201)
  const executed = await service.executedFor(first.json as { id: string })
  expect(executed.map(({ kind }) => kind)).toEqual([
    'payment_intent.create',
    'payment_intent.capture',
  ])
})

test('an API process answers waiting requests at shutdown, and exits with status 0', async () => {
  const key = randomUUID()
  const stopping = await service.startApi()
  service.worker.kill('SIGSTOP')
  const waiting = postPayment(stopping.url, tenant, paymentBody(), { key })
  await until(() => isAccepted(key))
  stopping.process.kill('SIGTERM')

  expect((await waiting).status).toBe(202)
  expect(await stopping.process.exited).toEqual({ code: 0, signal: null })
  service.worker.kill('SIGCONT')
  expect((await post(key, { prefer: 'wait=20' })).status).toBe(201)
})
