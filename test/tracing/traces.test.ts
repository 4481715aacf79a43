// The trace of a payment, as a collector receives it from the real processes.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { showId } from '../../src/domain/resource-id.ts'
import { get, paymentBody, post, postPayment } from '../support/client.ts'
import { fetchApi } from '../support/documented.ts'
import { startLimitedApiOn } from '../support/limited-api.ts'
import { startReceiver } from '../support/receiver.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import {
  drawTrace,
  sendingTo,
  startCollector,
  type CollectedSpan,
  type Collector,
} from './collector.ts'

const STRIPE_KEY = `sk_test_${randomUUID().replaceAll('-', '')}`
/** The client's span id: the parent of our spans. */
const CLIENT_SPAN = '00f067aa0ba902b7'

const CALL_ATTEMPTS = 3
const JOB_RETRY_LIMIT = 1

let collector: Collector
let service: OwnService
let tenant: Tenant

beforeAll(async () => {
  collector = await startCollector()
  service = await startService({
    ...collector.settings,
    STRIPE_SECRET_KEY: STRIPE_KEY,
    WEBHOOK_ALLOW_INSECURE: 'true',
    CHECK_INTERVAL_MS: '100',
    CHECK_DELAYS_SECONDS: '0.1,0.5,60',
    CALL_ATTEMPTS: String(CALL_ATTEMPTS),
    JOB_RETRY_LIMIT: String(JOB_RETRY_LIMIT),
    // Twenty payments at once are more than one worker takes.
    WORKER_CONCURRENCY: '4',
  })
  tenant = await service.createTenant()
})

afterEach(() => service.control('DELETE', 'faults'))

afterAll(async () => {
  await service.stop()
  await collector.stop()
})

/** Without a run of digits that is ignored because it could be a card number. */
const newTraceId = () => randomUUID().replaceAll('-', '').replaceAll(/[0-4]/g, 'a')

const partOf = (traceId: string, flags = '01') => ({
  traceparent: `00-${traceId}-${CLIENT_SPAN}-${flags}`,
})

/** In the form of the API. */
async function lastOperation(): Promise<string> {
  const [last] = await service.store.sql<{ id: string }[]>`
    select id from idempotency_keys where tenant_id = ${tenant.id} order by created_at desc limit 1
  `
  if (last === undefined) throw new Error('the tenant has no operation')
  return showId('op', last.id)
}

const PAYMENT = [
  'POST /v1/payments',
  '  reserve',
  '    run',
  '      phase authorized',
  '        call authorized',
  '      phase started',
  '        call started',
]

describe('the trace of a payment', () => {
  test('continues the client’s trace from the request through the job to every phase and call', async () => {
    const traceId = newTraceId()

    const paid = await postPayment(service.apiUrl, tenant, paymentBody(), {
      headers: partOf(traceId),
    })

    const spans = await collector.waitForTrace(traceId, PAYMENT.length)
    expect(paid.status).toBe(201)
    expect(drawTrace(spans, CLIENT_SPAN)).toEqual(PAYMENT)
    expect(
      spans.map(({ service: part, kind, name }) => `${part}: ${kind} ${name}`).toSorted(),
    ).toEqual([
      'atomic-payments-api: 2 POST /v1/payments',
      'atomic-payments-api: 4 reserve',
      'atomic-payments-worker: 1 phase authorized',
      'atomic-payments-worker: 1 phase started',
      'atomic-payments-worker: 3 call authorized',
      'atomic-payments-worker: 3 call started',
      'atomic-payments-worker: 5 run',
    ])
    expect(spans.filter(({ failed }) => failed)).toEqual([])
    const attributesOf = (name: string) => spans.find((span) => span.name === name)?.attributes
    const id = await lastOperation()
    const operation = { 'atomic.operation.id': id, 'atomic.operation.name': 'payment.create' }
    expect(attributesOf('POST /v1/payments')).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/payments',
      'http.response.status_code': 201,
    })
    expect(attributesOf('reserve')).toEqual(operation)
    expect(attributesOf('run')).toEqual({ 'atomic.operation.id': id, 'atomic.result': 'finished' })
    expect(attributesOf('phase started')).toEqual({ ...operation, 'atomic.phase': 'started' })
    expect(attributesOf('call started')).toEqual({
      ...operation,
      'atomic.phase': 'started',
      'atomic.outcome': 'done',
    })
  })

  test('continues in a second run if the first had no final outcome', async () => {
    const traceId = newTraceId()
    const fault = { match: { path: '/v1/payment_intents' }, fault: 'rate_limited', times: 3 }
    await service.control('POST', 'faults', fault)

    await postPayment(service.apiUrl, tenant, paymentBody(), { headers: partOf(traceId) })

    const spans = await collector.waitForTrace(traceId, PAYMENT.length + 5)
    const runs = spans.filter(({ name }) => name === 'run')
    expect(new Set(runs.map(({ attributes }) => attributes['atomic.result']))).toEqual(
      new Set(['retry', 'finished']),
    )
    expect(new Set(runs.map(({ parentSpanId }) => parentSpanId)).size).toBe(1)
    const calls = spans.filter(({ name }) => name === 'call started')
    const outcomes = calls.map(({ attributes }) => attributes['atomic.outcome'])
    expect(outcomes.filter((outcome) => outcome === 'not_executed')).toHaveLength(3)
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1)
  })

  test('is not recorded anywhere if the client does not record it', async () => {
    const unrecorded = newTraceId()
    const recorded = newTraceId()
    const request = { headers: partOf(unrecorded, '00') }

    const paid = await postPayment(service.apiUrl, tenant, paymentBody(), request)
    const id = await lastOperation()
    await postPayment(service.apiUrl, tenant, paymentBody(), { headers: partOf(recorded) })

    await collector.waitForTrace(recorded, PAYMENT.length)
    expect(paid.status).toBe(201)
    expect(collector.text()).not.toContain(unrecorded)
    expect(collector.text()).not.toContain(id)
  })

  test('starts with the worker for a job without a traceparent', async () => {
    // In this process there is no SDK.
    const api = await startLimitedApiOn(service.databaseUrl, { WAIT_SECONDS: '20' })

    const paid = await postPayment(api.url, tenant, paymentBody(), {
      headers: partOf(newTraceId()),
    })

    const id = await lastOperation()
    const isRun = ({ name, attributes }: CollectedSpan) =>
      name === 'run' && attributes['atomic.operation.id'] === id
    const all = await collector.waitFor((spans) => spans.some(isRun))
    const run = all.find(isRun)
    const spans = await collector.waitForTrace(run?.traceId ?? '', PAYMENT.length - 2)
    expect(paid.status).toBe(201)
    expect(drawTrace(spans, '')).toEqual(PAYMENT.slice(2).map((line) => line.slice(4)))
    await api.stop()
  })

  test('is a separate trace for the resolution of an unknown outcome, with the same operation id', async () => {
    const match = { method: 'POST', path: '/v1/payment_intents' }
    const times = CALL_ATTEMPTS * (1 + JOB_RETRY_LIMIT)
    await service.control('POST', 'faults', { match, fault: 'nonsense_body', times })
    const headers = { ...partOf(newTraceId()), prefer: 'respond-async' }

    await postPayment(service.apiUrl, tenant, paymentBody(), { headers })

    const id = await lastOperation()
    const isOfIt = ({ name, attributes }: CollectedSpan) =>
      name === 'resolve' && attributes['atomic.operation.id'] === id
    const traceOf = ({ traceId }: CollectedSpan, all: readonly CollectedSpan[]) =>
      all.filter((span) => span.traceId === traceId)
    // Earlier lookups may not have found the outcome.
    const ofResolution = (all: readonly CollectedSpan[]) =>
      all
        .filter(isOfIt)
        .map((span) => traceOf(span, all))
        .find((spans) => spans.some(({ name }) => name === 'run'))
    const all = await collector.waitFor((spans) => ofResolution(spans) !== undefined)
    expect(drawTrace(ofResolution(all) ?? [], '')).toEqual([
      'resolve',
      '  check started',
      '  run',
      '    phase authorized',
      '      call authorized',
      '    phase started',
    ])
  })
})

test('provider events and webhooks work as without tracing', async () => {
  const receiver = await startReceiver()
  await service.sendEvents()
  const other = await service.createTenant()
  await post(service.apiUrl, other, '/v1/webhook-endpoints', {
    url: receiver.url,
    event_types: ['*'],
  })

  const paid = await postPayment(service.apiUrl, other)

  const received = await receiver.waitFor(1)
  expect(paid.status).toBe(201)
  expect(received[0]?.body).toContain(String(paid.json['id']))
  await collector.waitFor((spans) => spans.some(({ name }) => name === 'POST /provider/webhooks'))
  await receiver.stop()
})

test('no span contains a secret of a client or an operator', async () => {
  const secrets = Array.from({ length: 8 }, () => randomUUID().replaceAll('-', ''))
  const [key = '', metadata, description, query, path, agent = '', state, baggage] = secrets
  const amount = 73_519_264
  const traceId = newTraceId()
  const headers = {
    ...partOf(traceId),
    tracestate: `vendor=${state}`,
    baggage: `user=${baggage}`,
    'user-agent': agent,
  }
  const body = paymentBody({ amount, metadata: { card: metadata }, description })

  const paid = await postPayment(service.apiUrl, tenant, body, { key, headers })
  const declined = { ...body, payment_method: 'pm_card_chargeDeclined' }
  await postPayment(service.apiUrl, tenant, declined, { headers })
  await postPayment(
    service.apiUrl,
    tenant,
    { ...body, description: '4242424242424242' },
    { headers },
  )
  const authorization = `Bearer ${tenant.apiKey}`
  const read = { headers: { ...headers, authorization } }
  await fetchApi(`${service.apiUrl}/v1/payments?cursor=${query}`, read)
  await fetchApi(`${service.apiUrl}/v1/payments/${path}`, read)
  await fetchApi(`${service.apiUrl}/${path}`, { headers })

  const isUnrouted = ({ name }: { name: string }) => name === 'GET'
  const spans = await collector.waitFor(
    (all) => all.filter((span) => span.traceId === traceId).length > 15 && all.some(isUnrouted),
  )
  expect(paid.status).toBe(201)
  const text = collector.text()
  for (const secret of [...secrets, tenant.apiKey, STRIPE_KEY, '4242424242424242', 'pm_card']) {
    expect(text).not.toContain(secret)
  }
  expect(text).not.toMatch(/(?<!\w)73519264(?!\w)/)
  const names = new Set(spans.flatMap(({ attributes }) => Object.keys(attributes)))
  expect([...names].toSorted()).toEqual([
    'atomic.operation.id',
    'atomic.operation.name',
    'atomic.outcome',
    'atomic.phase',
    'atomic.result',
    'http.request.method',
    'http.response.status_code',
    'http.route',
  ])
})

test('a collector that does not answer, or is not there, keeps no request from its answer, and no process from its end', async () => {
  const sockets: Socket[] = []
  /** Accepts requests, and never answers. */
  const silent = createServer((socket) => void sockets.push(socket.resume().on('error', () => {})))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const settings = { SHUTDOWN_TIMEOUT_MS: '5000' }
  const [api, worker] = await Promise.all([
    service.startApi({ ...sendingTo(silentUrl), ...settings }),
    service.startWorker({ ...sendingTo('http://127.0.0.1:1'), ...settings }),
  ])

  const answers = await Promise.all(Array.from({ length: 20 }, () => postPayment(api.url, tenant)))
  const read = await get(api.url, tenant, '/v1/payments')
  for (const process of [api.process, worker]) process.kill('SIGTERM')
  // The exit code is different if it takes longer than SHUTDOWN_TIMEOUT_MS.
  const ends = await Promise.all([api.process.exited, worker.exited])
  for (const socket of sockets) socket.destroy()
  silent.close()

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
  expect(read.status).toBe(200)
  expect(ends).toEqual([
    { code: 0, signal: null },
    { code: 0, signal: null },
  ])
  for (const { lines } of [api.process, worker]) {
    expect(lines.join('\n')).toMatch(/"msg":"(tracing|the last traces were not sent)"/)
    expect(lines.filter((line) => !line.startsWith('{'))).toEqual([])
  }
})
