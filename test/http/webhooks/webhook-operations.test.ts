// Operations on webhook endpoints: to change one, to disable it, and to enable it again.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { get, post, postPayment, type ApiResponse } from '../../support/client.ts'
import { startReceiver, status, type Receiver } from '../../support/receiver.ts'
import { type Tenant } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { expectProblem, expectReplay } from '../payments.ts'
import { service } from '../../support/shared-service.ts'

const ENDPOINTS = '/v1/webhook-endpoints'
const DELIVERIES = '/v1/webhook-deliveries'

let tenant: Tenant
let receiver: Receiver
let secret: string
/** The path of the tenant's endpoint. */
let endpoint: string

beforeEach(async () => {
  tenant = await service.createTenant()
  receiver = await startReceiver()
  const { json } = await send(ENDPOINTS, { url: receiver.url, event_types: ['payment.created'] })
  secret = String(json['secret'])
  endpoint = `${ENDPOINTS}/${String(json['id'])}`
})
afterEach(() => receiver.stop())

const send = (path: string, body?: unknown, key = randomUUID()): Promise<ApiResponse> =>
  post(service.apiUrl, tenant, path, body, { key })
const read = async (path: string) => (await get(service.apiUrl, tenant, path)).json
const deliveries = async () => (await read(DELIVERIES))['data'] as Record<string, unknown>[]

/** Makes a payment, and returns its delivery once it has this status. */
async function deliver(expected: string): Promise<Record<string, unknown>> {
  const known = new Set((await deliveries()).map(({ id }) => id))
  await postPayment(service.apiUrl, tenant)
  return await until(async () => {
    const [delivery] = (await deliveries()).filter(({ id }) => !known.has(id))
    return delivery?.['status'] === expected && delivery
  })
}

describe('POST /v1/webhook-endpoints/:id', () => {
  test('changes what the request names, and keeps the rest', async () => {
    const before = await read(endpoint)
    const described = await send(endpoint, { description: 'books' })
    const changed = await send(endpoint, { event_types: ['refund.created', 'payment.failed'] })
    const cleared = await send(endpoint, { description: null })

    expect(described.status).toBe(200)
    expect(described.json).toEqual({ ...before, description: 'books' })
    expect(described.headers.get('location')).toBe(endpoint)
    const eventTypes = { event_types: ['refund.created', 'payment.failed'] }
    expect(changed.json).toEqual({ ...before, ...eventTypes, description: 'books' })
    expect(cleared.json).toEqual({ ...before, ...eventTypes })
    expect(await read(endpoint)).toEqual(cleared.json)
    expect((await send(endpoint, {})).json).toEqual(cleared.json)
  })

  test('sends the next events to the new URL, with the same secret', async () => {
    const { json } = await send(endpoint, { url: `${receiver.url}/new` })
    await deliver('succeeded')

    expect(json['url']).toBe(`${receiver.url}/new`)
    const [request] = receiver.received
    expect(request?.path).toBe('/webhooks/new')
    expect(() =>
      new Webhook(secret).verify(request?.body ?? '', request?.headers ?? {}),
    ).not.toThrow()
  })

  test('returns the same bytes to a retry', async () => {
    const key = randomUUID()
    const first = await send(endpoint, { disabled: true }, key)
    await send(endpoint, { disabled: false })

    expectReplay(await send(endpoint, { disabled: true }, key), first)
    expect(await read(endpoint)).toMatchObject({ status: 'enabled' })
  })
})

describe('a disabled endpoint', () => {
  test('receives no events, and the next ones again when it is enabled', async () => {
    const disabled = await send(endpoint, { disabled: true })
    await postPayment(service.apiUrl, tenant)
    expect(disabled.json).toMatchObject({ status: 'disabled', disabled_reason: 'requested' })
    expect((await read('/v1/events?type=webhook_endpoint.disabled'))['data']).toEqual([])
    expect(await deliveries()).toEqual([])

    const enabled = await send(endpoint, { disabled: false })
    expect(enabled.json).toMatchObject({ status: 'enabled', disabled_reason: null })
    await deliver('succeeded')
    expect(receiver.received).toHaveLength(1)
  })

  test('keeps the reason for which the service disabled it, until it is enabled', async () => {
    receiver.answer = status(410)
    const { id } = await deliver('failed')
    const redeliver = (key = randomUUID()) =>
      send(`${DELIVERIES}/${String(id)}/redeliver`, undefined, key)
    const { data: events } = await read('/v1/events?type=webhook_endpoint.disabled')
    expect(events).toMatchObject([
      { data: { object: { id: endpoint.split('/').at(-1), disabled_reason: 'gone' } } },
    ])
    expect((await send(endpoint, { disabled: true })).json).toMatchObject({
      disabled_reason: 'gone',
    })
    expectProblem(await redeliver(), 'webhook-endpoint-disabled')

    receiver.answer = status(204)
    await send(endpoint, { disabled: false })
    const key = randomUUID()
    const answer = await redeliver(key)
    expect(answer).toMatchObject({ status: 202, json: { id, status: 'pending' } })
    expectReplay(await redeliver(key), answer)
    await until(async () => (await deliveries())[0]?.['status'] === 'succeeded')
    expect(receiver.received).toHaveLength(2)
    await deliver('succeeded')
  })
})

describe('the failures of an endpoint', () => {
  const failingSince = async () => {
    const [row] = await service.store.sql`
      select failing_since from webhook_endpoints where tenant_id = ${tenant.id}
    `
    return row?.['failing_since'] as unknown
  }
  beforeEach(async () => {
    await service.store.sql`
      update webhook_endpoints set failing_since = now() where tenant_id = ${tenant.id}
    `
  })

  test.each<[string, boolean, (url: string) => unknown[]]>([
    ['another description', false, () => [{ description: 'books' }]],
    ['the same URL', false, (url) => [{ url }]],
    ['being enabled while it is enabled', false, () => [{ disabled: false }]],
    ['another URL', true, (url) => [{ url: `${url}/new` }]],
    ['being disabled and enabled', true, () => [{ disabled: true }, { disabled: false }]],
  ])('after %s are forgotten: %s', async (_, areForgotten, changesOf) => {
    for (const body of changesOf(receiver.url)) await send(endpoint, body)

    expect((await failingSince()) === null).toBe(areForgotten)
  })
})

describe('POST /v1/webhook-endpoints/:id/replay', () => {
  /** Makes deliveries that failed, oldest first, and returns their events. */
  async function fail(times: number): Promise<string[]> {
    const events: string[] = []
    for (let time = 0; time < times; time += 1) {
      receiver.answer = status(410)
      events.push(String((await deliver('failed'))['event']))
      receiver.answer = status(204)
      await send(endpoint, { disabled: false })
    }
    return events
  }
  const replay = (since: string, key = randomUUID()) => send(`${endpoint}/replay`, { since }, key)
  const received = () => receiver.received.map(({ headers }) => headers['webhook-id'])

  test('sends what has failed since the moment again, and a retry starts nothing', async () => {
    const [old = '', ...recent] = await fail(3)
    const { created_at: since } = await read(`/v1/events/${recent[0] ?? ''}`)
    await deliver('succeeded')
    receiver.received.length = 0
    const key = randomUUID()
    const answer = await replay(String(since), key)

    expect(answer.status).toBe(202)
    expect(answer.json).toEqual({
      object: 'webhook_replay',
      endpoint: endpoint.split('/').at(-1),
      since,
      deliveries: 2,
      has_more: false,
    })
    await receiver.waitFor(2)
    expect(new Set(received())).toEqual(new Set(recent))
    expectReplay(await replay(String(since), key), answer)
    await until(async () => {
      const all = await deliveries()
      return all.filter(({ status: is }) => is === 'succeeded').length === 3
    })
    expect((await replay('2026-01-31T12:00:00+01:00')).json).toMatchObject({ deliveries: 1 })
    await receiver.waitFor(3)
    expect(received().at(-1)).toBe(old)
  })
})

test('POST /v1/webhook-endpoints/:id/test sends a test event to this endpoint alone, once', async () => {
  await send(ENDPOINTS, { url: `${receiver.url}/other` })
  const key = randomUUID()
  const answer = await send(`${endpoint}/test`, undefined, key)
  expectReplay(await send(`${endpoint}/test`, undefined, key), answer)

  expect(answer.status).toBe(202)
  expect(answer.json).toMatchObject({ event_type: 'webhook_endpoint.test', status: 'pending' })
  const [request] = await receiver.waitFor(1)
  expect(request?.path).toBe('/webhooks')
  const event = new Webhook(secret).verify(request?.body ?? '', request?.headers ?? {})
  const object = { id: endpoint.split('/').at(-1), object: 'webhook_endpoint', status: 'enabled' }
  expect(event).toMatchObject({ type: 'webhook_endpoint.test', data: { object } })
  expect(request?.body).not.toContain(receiver.url)
  expect(await deliveries()).toHaveLength(1)
  const path = answer.headers.get('location') ?? ''
  await until(async () => (await read(path))['status'] === 'succeeded')
  expect(receiver.received).toHaveLength(1)
  const [row] = await service.store.sql`
      select bool_and(paused_until is null) as closed from webhook_endpoints
      where tenant_id = ${tenant.id}
    `
  expect(row).toEqual({ closed: true })
})

test.each([
  ['replay', { since: '2026-01-31T12:00:00Z' }],
  ['test', undefined],
])(
  'POST /v1/webhook-endpoints/:id/%s is refused while the endpoint is disabled',
  async (action, body) => {
    await send(endpoint, { disabled: true })

    expectProblem(await send(`${endpoint}/${action}`, body), 'webhook-endpoint-disabled')
    expect(await deliveries()).toEqual([])
  },
)
