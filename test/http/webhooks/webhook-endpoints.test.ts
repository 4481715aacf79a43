// Webhook endpoints and deliveries: how clients manage them, and how an event is delivered.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { ENDPOINTS_MAX } from '../../../src/domain/webhooks/webhook-endpoint.ts'
import { get, post, postPayment, remove, type ApiResponse } from '../../support/client.ts'
import { startReceiver, type Receiver } from '../../support/receiver.ts'
import { type Tenant } from '../../support/service.ts'
import { expectProblem, expectReplay } from '../payments.ts'
import { until } from '../../support/until.ts'
import { service } from '../../support/shared-service.ts'

const ENDPOINTS = '/v1/webhook-endpoints'
const DELIVERIES = '/v1/webhook-deliveries'
const RECEIVER = 'https://merchant.example/webhooks'

let tenant: Tenant

beforeEach(async () => {
  tenant = await service.createTenant()
})

const create = (body: unknown = { url: RECEIVER }, key = randomUUID()) =>
  post(service.apiUrl, tenant, ENDPOINTS, body, { key })
const pathOf = ({ json }: ApiResponse) => `${ENDPOINTS}/${String(json['id'])}`
const dataOf = ({ json }: ApiResponse) => json['data'] as Record<string, unknown>[]

async function keysOf({ id }: Tenant): Promise<string[]> {
  const rows = await service.store.sql<{ operation: string }[]>`
    select operation from idempotency_keys where tenant_id = ${id}
  `
  return rows.map(({ operation }) => operation)
}

describe('POST /v1/webhook-endpoints', () => {
  test('creates an endpoint for every event, and returns its secret', async () => {
    const answer = await create()

    expect(answer.status).toBe(201)
    expect(answer.json).toEqual({
      id: expect.stringMatching(/^we_[0-9a-z]{26}$/),
      object: 'webhook_endpoint',
      url: RECEIVER,
      description: null,
      event_types: ['*'],
      status: 'enabled',
      disabled_reason: null,
      paused_until: null,
      created_at: expect.any(String),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    })
    expect(answer.headers.get('location')).toBe(pathOf(answer))
    expect(answer.headers.get('idempotency-key-expires')).not.toBeNull()
  })

  test('creates no more endpoints than a tenant may have, even for concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: ENDPOINTS_MAX + 4 }, () => create()))

    const created = answers.filter((answer) => answer.status === 201)
    expect(created).toHaveLength(ENDPOINTS_MAX)
    for (const answer of answers) {
      if (answer.status !== 201) expectProblem(answer, 'too-many-webhook-endpoints')
    }
    expect(await keysOf(tenant)).toHaveLength(ENDPOINTS_MAX)
    await remove(service.apiUrl, tenant, pathOf(created[0] as ApiResponse))
    expect((await create()).status).toBe(201)
  })
})

describe('the idempotency key of a local operation', () => {
  test('creates one endpoint for many concurrent requests', async () => {
    const key = randomUUID()
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => create({ url: RECEIVER }, key)),
    )

    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    const replayed = answers.filter(({ headers }) => headers.has('idempotent-replayed'))
    expect(replayed).toHaveLength(7)
    expect(dataOf(await get(service.apiUrl, tenant, ENDPOINTS))).toHaveLength(1)
  })

  test('can be retrieved without the secret', async () => {
    const key = randomUUID()
    const { json } = await create({ url: RECEIVER }, key)
    const answer = await get(service.apiUrl, tenant, `/v1/idempotency-keys/${key}`)

    expect(answer.json).toMatchObject({
      operation: 'webhook_endpoint.create',
      status: 'completed',
      resource: null,
    })
    expect(answer.text).not.toContain(String(json['secret']))
  })
})

test('GET /v1/webhook-endpoints returns endpoints as they were created, without the secret', async () => {
  const fields = { event_types: ['payment.succeeded', 'refund.succeeded'], description: 'books' }
  const created = await create({ url: RECEIVER, ...fields })
  const answer = await get(service.apiUrl, tenant, pathOf(created))

  const { secret, ...rest } = created.json
  expect(rest).toMatchObject(fields)
  expect(answer.json).toEqual(rest)
  expect(answer.text).not.toContain(String(secret))
  expect((await get(service.apiUrl, tenant, ENDPOINTS)).json).toEqual({
    object: 'list',
    data: [rest],
    has_more: false,
  })
})

test('POST /v1/webhook-endpoints/:id/rotate-secret returns a new secret, and a retry returns the same one', async () => {
  const created = await create()
  const key = randomUUID()
  const path = `${pathOf(created)}/rotate-secret`
  const rotated = await post(service.apiUrl, tenant, path, undefined, { key })
  const retry = await post(service.apiUrl, tenant, path, undefined, { key })

  expect(rotated.status).toBe(200)
  expect(rotated.json).toEqual({ ...created.json, secret: expect.stringMatching(/^whsec_/) })
  expect(rotated.json['secret']).not.toBe(created.json['secret'])
  expectReplay(retry, rotated)
})

test('DELETE /v1/webhook-endpoints/:id deletes the endpoint and its secrets, and a retry gets the same bytes', async () => {
  const created = await create()
  const key = randomUUID()
  const deleted = await remove(service.apiUrl, tenant, pathOf(created), { key })
  const retry = await remove(service.apiUrl, tenant, pathOf(created), { key })

  expect(deleted.status).toBe(200)
  expect(deleted.json).toEqual({
    id: created.json['id'],
    object: 'webhook_endpoint',
    deleted: true,
  })
  expectReplay(retry, deleted)
  expectProblem(await get(service.apiUrl, tenant, pathOf(created)), 'resource-not-found')
  expect(dataOf(await get(service.apiUrl, tenant, ENDPOINTS))).toEqual([])
  const [row] = await service.store.sql`
      select secret, previous_secret from webhook_endpoints where tenant_id = ${tenant.id}
    `
  expect(row).toEqual({ secret: null, previous_secret: null })
})

describe('the delivery of an event', () => {
  let receiver: Receiver
  let secret: string
  let endpoint: string

  beforeEach(async () => {
    receiver = await startReceiver()
    const created = await create({ url: receiver.url, event_types: ['payment.succeeded'] })
    secret = String(created.json['secret'])
    endpoint = String(created.json['id'])
  })
  afterEach(() => receiver.stop())

  const deliveries = async (query = '') =>
    dataOf(await get(service.apiUrl, tenant, `${DELIVERIES}${query}`))

  const untilFinal = () =>
    until(async () => {
      const [delivery] = await deliveries()
      return delivery !== undefined && delivery['status'] !== 'pending' && delivery
    })

  test('is signed, has the bytes of GET /v1/events/:id, and is recorded', async () => {
    const key = randomUUID()
    const payment = await postPayment(service.apiUrl, tenant, undefined, { key })
    const [request] = await receiver.waitFor(1)
    if (request === undefined) throw new Error('nothing was received')

    const event = new Webhook(secret).verify(request.body, request.headers) as { id: string }
    expect(event).toMatchObject({
      id: request.headers['webhook-id'],
      type: 'payment.succeeded',
      data: { object: payment.json },
      request: { idempotency_key: key },
    })
    expect((await get(service.apiUrl, tenant, `/v1/events/${event.id}`)).text).toBe(request.body)
    const delivery = await untilFinal()
    expect(delivery).toEqual({
      id: expect.stringMatching(/^wd_[0-9a-z]{26}$/),
      object: 'webhook_delivery',
      event: event.id,
      event_type: 'payment.succeeded',
      endpoint,
      status: 'succeeded',
      next_attempt_at: null,
      attempts: [
        {
          number: 1,
          started_at: expect.any(String),
          latency_ms: expect.any(Number),
          http_status: 204,
          error: null,
        },
      ],
      created_at: expect.any(String),
    })

    const answer = await get(service.apiUrl, tenant, `${DELIVERIES}/${String(delivery['id'])}`)
    expect(answer.json).toEqual(delivery)
  })

  test('can be filtered by endpoint, event and status', async () => {
    await postPayment(service.apiUrl, tenant)
    const delivery = await untilFinal()
    const event = String(delivery['event'])

    for (const query of [`endpoint=${endpoint}`, `event=${event}`, 'status=succeeded']) {
      expect(await deliveries(`?${query}`)).toEqual([delivery])
    }
    for (const query of [`event=${event}&status=failed`, 'status=pending']) {
      expect(await deliveries(`?${query}`)).toEqual([])
    }
  })
})
