// Webhook endpoints and deliveries as clients make and read them, and an event on its whole way.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { WEBHOOKS_DEAD_LETTERS, WEBHOOKS_QUEUE } from '../../../src/db/queue/queues.ts'
import { RETRY_DELAYS_SECONDS } from '../../../src/domain/webhooks/webhook-delivery.ts'
import { ENDPOINTS_MAX, parseEndpointId } from '../../../src/domain/webhooks/webhook-endpoint.ts'
import { get, post, postPayment, remove, type ApiResponse } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { startReceiver, status, type Receiver } from '../../support/receiver.ts'
import { startService, type Service, type Tenant } from '../../support/service.ts'
import { expectProblem, expectReplay } from '../payments.ts'

const ENDPOINTS = '/v1/webhook-endpoints'
const DELIVERIES = '/v1/webhook-deliveries'
const RECEIVER = 'https://merchant.example/webhooks'

let service: Service
let tenant: Tenant

beforeAll(async () => {
  service = await startService({ WEBHOOK_ALLOW_INSECURE: 'true' })
})
beforeEach(async () => {
  tenant = await service.createTenant()
})
afterAll(() => service.stop())

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
  test('makes an endpoint for every event, and shows its secret', async () => {
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
      created_at: expect.any(String),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    })
    expect(answer.headers.get('location')).toBe(pathOf(answer))
    expect(answer.headers.get('idempotency-key-expires')).not.toBeNull()
  })

  test('takes event types and a description', async () => {
    const wanted = { event_types: ['payment.succeeded', 'refund.succeeded'], description: 'books' }

    expect((await create({ url: RECEIVER, ...wanted })).json).toMatchObject(wanted)
  })

  test.each<[string, Record<string, unknown>]>([
    ['no URL', { url: undefined }],
    ['a URL that is too long', { url: `https://merchant.example/${'x'.repeat(2048)}` }],
    ['a type of no event', { event_types: ['payment.exploded'] }],
    ['no event types', { event_types: [] }],
    ['a repeated event type', { event_types: ['payment.created', 'payment.created'] }],
    ['a type that is no text', { event_types: [1] }],
    ['a description that is too long', { description: 'x'.repeat(1001) }],
  ])('refuses %s, and leaves the key unused', async (_, fields) => {
    expectProblem(await create({ url: RECEIVER, ...fields }), 'invalid-field')
    expect(await keysOf(tenant)).toEqual([])
  })

  test('refuses a field that it does not know', async () => {
    expectProblem(await create({ url: RECEIVER, secret: 'whsec_mine' }), 'unknown-field')
  })

  test.each([
    ['no URL', 'merchant.example'],
    ['another scheme', 'ftp://merchant.example/'],
    ['credentials', 'https://user:hunter2@merchant.example/'],
    ['a fragment', 'https://merchant.example/#here'],
    ['a private address', 'https://10.0.0.1/'],
    ['the metadata of a cloud', 'https://169.254.169.254/'],
    ['an address in hexadecimal', 'https://0xa9fea9fe/'],
    ['a mapped address', 'https://[::ffff:10.0.0.1]/'],
  ])('refuses a URL with %s, names the place and does not repeat it', async (_, url) => {
    const answer = await create({ url })

    expectProblem(answer, 'webhook-url-refused')
    expect(answer.json['errors']).toEqual([{ pointer: '/url', detail: expect.any(String) }])
    expect(answer.text).not.toContain('hunter2')
    expect(await keysOf(tenant)).toEqual([])
  })

  test('makes as many as a tenant may have, however many are asked for at once', async () => {
    const answers = await Promise.all(Array.from({ length: ENDPOINTS_MAX + 4 }, () => create()))

    const made = answers.filter((answer) => answer.status === 201)
    expect(made).toHaveLength(ENDPOINTS_MAX)
    for (const answer of answers) {
      if (answer.status !== 201) expectProblem(answer, 'too-many-webhook-endpoints')
    }
    expect(await keysOf(tenant)).toHaveLength(ENDPOINTS_MAX)
    await remove(service.apiUrl, tenant, pathOf(made[0] as ApiResponse))
    expect((await create()).status).toBe(201)
  })
})

describe('where insecure receivers are not allowed', () => {
  test.each(['http://merchant.example/', 'http://127.0.0.1/', 'https://127.0.0.1/'])(
    '%s is refused',
    async (url) => {
      const strict = await service.startApi({ WEBHOOK_ALLOW_INSECURE: 'false' })
      const answer = await post(strict.url, tenant, ENDPOINTS, { url })
      strict.process.kill('SIGKILL')

      expectProblem(answer, 'webhook-url-refused')
    },
  )
})

describe('the key of a local operation', () => {
  test('makes one endpoint, and a retry gets the same bytes, the secret included', async () => {
    const key = randomUUID()
    const first = await create({ url: RECEIVER }, key)
    const retry = await create({ url: RECEIVER }, key)

    expect(first.status).toBe(201)
    expectReplay(retry, first)
    expect(dataOf(await get(service.apiUrl, tenant, ENDPOINTS))).toHaveLength(1)
  })

  test('makes one endpoint when it is sent many times at once', async () => {
    const key = randomUUID()
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => create({ url: RECEIVER }, key)),
    )

    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    const replayed = answers.filter(({ headers }) => headers.has('idempotent-replayed'))
    expect(replayed).toHaveLength(7)
    expect(dataOf(await get(service.apiUrl, tenant, ENDPOINTS))).toHaveLength(1)
  })

  test('is refused for another body', async () => {
    const key = randomUUID()
    await create({ url: RECEIVER }, key)
    const answer = await create({ url: `${RECEIVER}/other` }, key)

    expectProblem(answer, 'idempotency-key-reused')
    expect(answer.headers.get('idempotency-key-expires')).not.toBeNull()
  })

  test('is refused for a payment, as that of a payment is for an endpoint', async () => {
    const [endpointKey, paymentKey] = [randomUUID(), randomUUID()]
    await create({ url: RECEIVER }, endpointKey)
    await postPayment(service.apiUrl, tenant, undefined, { key: paymentKey })

    expectProblem(
      await postPayment(service.apiUrl, tenant, undefined, { key: endpointKey }),
      'idempotency-key-reused',
    )
    expectProblem(await create({ url: RECEIVER }, paymentKey), 'idempotency-key-reused')
  })

  test('can be looked up, and shows no secret there', async () => {
    const key = randomUUID()
    const { json } = await create({ url: RECEIVER }, key)
    const shown = await get(service.apiUrl, tenant, `/v1/idempotency-keys/${key}`)

    expect(shown.json).toMatchObject({
      operation: 'webhook_endpoint.create',
      status: 'completed',
      resource: null,
    })
    expect(shown.text).not.toContain(String(json['secret']))
  })
})

describe('reading endpoints', () => {
  test('shows them as they were made, without the secret', async () => {
    const made = await create()
    const shown = await get(service.apiUrl, tenant, pathOf(made))

    const { secret, ...rest } = made.json
    expect(shown.json).toEqual(rest)
    expect(shown.text).not.toContain(String(secret))
    expect((await get(service.apiUrl, tenant, ENDPOINTS)).json).toEqual({
      object: 'list',
      data: [rest],
      has_more: false,
    })
  })

  test('lists newest first, in pages', async () => {
    const first = await create()
    const second = await create()
    const page = await get(service.apiUrl, tenant, `${ENDPOINTS}?limit=1`)

    expect(page.json).toMatchObject({ data: [{ id: second.json['id'] }], has_more: true })
    const after = `${ENDPOINTS}?starting_after=${String(second.json['id'])}`
    expect((await get(service.apiUrl, tenant, after)).json).toMatchObject({
      data: [{ id: first.json['id'] }],
      has_more: false,
    })
  })

  test.each(['limit=0', 'url=x', 'starting_after=we_1', 'starting_after=pay_1'])(
    'refuses the query %s',
    async (query) => {
      expectProblem(await get(service.apiUrl, tenant, `${ENDPOINTS}?${query}`), 'invalid-query')
    },
  )
})

describe('POST /v1/webhook-endpoints/:id/rotate-secret', () => {
  test('shows a new secret, and a retry shows the same', async () => {
    const made = await create()
    const key = randomUUID()
    const path = `${pathOf(made)}/rotate-secret`
    const rotated = await post(service.apiUrl, tenant, path, undefined, { key })
    const retry = await post(service.apiUrl, tenant, path, undefined, { key })

    expect(rotated.status).toBe(200)
    expect(rotated.json).toEqual({ ...made.json, secret: expect.stringMatching(/^whsec_/) })
    expect(rotated.json['secret']).not.toBe(made.json['secret'])
    expectReplay(retry, rotated)
  })

  test('keeps the previous secret for a day, and the one before that not at all', async () => {
    const made = await create()
    const path = `${pathOf(made)}/rotate-secret`
    const first = await post(service.apiUrl, tenant, path)
    const second = await post(service.apiUrl, tenant, path)
    const [row] = await service.store.sql`
      select secret, previous_secret,
        extract(epoch from previous_secret_expires_at - now())::float8 / 3600 as hours
      from webhook_endpoints where tenant_id = ${tenant.id}
    `

    expect(row).toMatchObject({
      secret: second.json['secret'],
      previous_secret: first.json['secret'],
    })
    expect(row?.['hours']).toBeCloseTo(24, 1)
  })
})

describe('DELETE /v1/webhook-endpoints/:id', () => {
  test('deletes the endpoint and its secrets, and a retry gets the same bytes', async () => {
    const made = await create()
    const key = randomUUID()
    const deleted = await remove(service.apiUrl, tenant, pathOf(made), { key })
    const retry = await remove(service.apiUrl, tenant, pathOf(made), { key })

    expect(deleted.status).toBe(200)
    expect(deleted.json).toEqual({
      id: made.json['id'],
      object: 'webhook_endpoint',
      deleted: true,
    })
    expectReplay(retry, deleted)
    expectProblem(await get(service.apiUrl, tenant, pathOf(made)), 'resource-not-found')
    expect(dataOf(await get(service.apiUrl, tenant, ENDPOINTS))).toEqual([])
    const [row] = await service.store.sql`
      select secret, previous_secret from webhook_endpoints where tenant_id = ${tenant.id}
    `
    expect(row).toEqual({ secret: null, previous_secret: null })
  })

  test('answers 404 with a new key when it is deleted already', async () => {
    const made = await create()
    await remove(service.apiUrl, tenant, pathOf(made))

    expectProblem(await remove(service.apiUrl, tenant, pathOf(made)), 'resource-not-found')
  })

  test('needs a key', async () => {
    const made = await create()
    const headers = { authorization: `Bearer ${tenant.apiKey}` }
    const response = await fetchApi(`${service.apiUrl}${pathOf(made)}`, {
      method: 'DELETE',
      headers,
    })

    expect(response.status).toBe(400)
    expect((await get(service.apiUrl, tenant, pathOf(made))).status).toBe(200)
  })

  test('takes no fields', async () => {
    const made = await create()
    const path = `${pathOf(made)}/rotate-secret`
    expectProblem(await post(service.apiUrl, tenant, path, { hours: 1 }), 'unknown-field')
  })
})

describe('an event on its way', () => {
  let receiver: Receiver
  let secret: string
  let endpoint: string

  beforeEach(async () => {
    receiver = await startReceiver()
    const made = await create({ url: receiver.url, event_types: ['payment.succeeded'] })
    secret = String(made.json['secret'])
    endpoint = String(made.json['id'])
  })
  afterEach(() => receiver.stop())

  const deliveries = async (query = '') =>
    dataOf(await get(service.apiUrl, tenant, `${DELIVERIES}${query}`))

  /** Reads until it is as a test waits for; the workers do it in their own time. */
  async function eventually<Value>(
    read: () => Promise<Value>,
    isThere: (value: Value) => boolean,
  ): Promise<Value> {
    for (;;) {
      const value = await read()
      if (isThere(value)) return value
      await delay(50)
    }
  }

  const settled = () =>
    eventually(
      async () => (await deliveries())[0],
      (delivery) => delivery !== undefined && delivery['status'] !== 'pending',
    )

  /** As if the schedule had come to its last attempt, which is due now. */
  async function hurryToLastAttempt(): Promise<void> {
    const { sql } = service.store
    await eventually(
      () => deliveries(),
      ([delivery]) => (delivery?.['attempts'] as unknown[] | undefined)?.length === 1,
    )
    await sql`
      update webhook_deliveries set schedule_step = ${RETRY_DELAYS_SECONDS.length}
      where tenant_id = ${tenant.id}
    `
    await sql`
      update pgboss.job set start_after = now()
      where name = ${WEBHOOKS_QUEUE} and data ->> 'tenantId' = ${tenant.id} and state = 'created'
    `
  }

  test('arrives signed, as GET /v1/events/:id shows it, and its delivery tells of it', async () => {
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
    const delivery = await settled()
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
    const shown = await get(service.apiUrl, tenant, `${DELIVERIES}/${String(delivery?.['id'])}`)
    expect(shown.json).toEqual(delivery)
  })

  test('can be found by endpoint, event and status', async () => {
    await postPayment(service.apiUrl, tenant)
    const delivery = await settled()
    const event = String(delivery?.['event'])

    for (const query of [`endpoint=${endpoint}`, `event=${event}`, 'status=succeeded']) {
      expect(await deliveries(`?${query}`)).toEqual([delivery])
    }
    for (const query of [`event=${event}&status=failed`, 'status=pending']) {
      expect(await deliveries(`?${query}`)).toEqual([])
    }
  })

  test.each(['status=lost', 'endpoint=x', 'event=we_1', 'starting_after=wd_1', 'kind=x'])(
    'cannot be found with the query %s',
    async (query) => {
      expectProblem(await get(service.apiUrl, tenant, `${DELIVERIES}?${query}`), 'invalid-query')
    },
  )

  test('ends among the dead letters when no attempt succeeds, and can be set going again', async () => {
    receiver.answer = status(500)
    await postPayment(service.apiUrl, tenant)
    await hurryToLastAttempt()

    const failed = await settled()
    expect(failed).toMatchObject({
      status: 'failed',
      attempts: [{ http_status: 500 }, { http_status: 500 }],
    })
    const readDeadLetters = () => service.store.sql`
      select data from pgboss.job
      where name = ${WEBHOOKS_DEAD_LETTERS} and data ->> 'tenantId' = ${tenant.id}
    `
    await eventually(readDeadLetters, ({ length }) => length === 1)

    receiver.answer = status(200)
    const key = randomUUID()
    const path = `${DELIVERIES}/${String(failed?.['id'])}/redeliver`
    const answer = await post(service.apiUrl, tenant, path, undefined, { key })
    const retry = await post(service.apiUrl, tenant, path, undefined, { key })
    expect(answer.status).toBe(202)
    expect(answer.json).toMatchObject({ id: failed?.['id'], status: 'pending' })
    expectReplay(retry, answer)
    expect(await settled()).toMatchObject({ status: 'succeeded' })
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(ids).toHaveLength(3)
    expect(new Set(ids).size).toBe(1)
  })

  test('ends at an endpoint that is gone, and cannot be sent there again', async () => {
    receiver.answer = status(410)
    await postPayment(service.apiUrl, tenant)
    const delivery = await settled()

    const path = `${DELIVERIES}/${String(delivery?.['id'])}/redeliver`
    expectProblem(await post(service.apiUrl, tenant, path), 'webhook-endpoint-disabled')
    const shown = await get(service.apiUrl, tenant, `${ENDPOINTS}/${endpoint}`)
    expect(shown.json).toMatchObject({ status: 'disabled', disabled_reason: 'gone' })
  })

  test('shows nothing to another tenant, in the same bytes as for what is not there', async () => {
    await postPayment(service.apiUrl, tenant)
    const delivery = String((await settled())?.['id'])
    const other = await service.createTenant()
    const flip = (id: string) => `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`

    const answers = await Promise.all([
      ...[endpoint, flip(endpoint), 'nonsense'].flatMap((id) => [
        get(service.apiUrl, other, `${ENDPOINTS}/${id}`),
        remove(service.apiUrl, other, `${ENDPOINTS}/${id}`),
        post(service.apiUrl, other, `${ENDPOINTS}/${id}/rotate-secret`),
      ]),
      ...[delivery, flip(delivery), 'nonsense'].flatMap((id) => [
        get(service.apiUrl, other, `${DELIVERIES}/${id}`),
        post(service.apiUrl, other, `${DELIVERIES}/${id}/redeliver`),
      ]),
    ])

    for (const answer of answers) expectProblem(answer, 'resource-not-found')
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await keysOf(other)).toEqual([])
    expect(dataOf(await get(service.apiUrl, other, DELIVERIES))).toEqual([])
    expect(parseEndpointId(endpoint)).toBeDefined()
    expect((await get(service.apiUrl, tenant, `${ENDPOINTS}/${endpoint}`)).status).toBe(200)
  })
})

test('no secret has reached a log', async () => {
  const rows = await service.store.sql<{ secret: string }[]>`
    select secret from webhook_endpoints where secret is not null
  `
  const log = [...service.api.lines, ...service.worker.lines].join('\n')

  expect(rows.length).toBeGreaterThan(0)
  for (const { secret } of rows) expect(log).not.toContain(secret.slice('whsec_'.length))
})
