// Cancels idempotency keys over HTTP: before their request arrives, while it waits, and afterwards.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import {
  get,
  paymentBody,
  post,
  postPayment,
  read,
  type ApiResponse,
} from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { service, tenant } from '../../support/shared-service.ts'
import { until } from '../../support/until.ts'
import { executedKinds, expectProblem, makePayment } from '../payments.ts'
import { limitedApi } from '../../support/for-file.ts'

/** Cancels without a key of its own. */
async function cancel(
  key: string,
  { apiKey } = tenant,
  url = service.apiUrl,
): Promise<ApiResponse> {
  const path = `/v1/idempotency-keys/${encodeURIComponent(key)}/cancel`
  const headers = { authorization: `Bearer ${apiKey}` }
  return await read(await fetchApi(`${url}${path}`, { method: 'POST', headers }))
}

const pay = (key: string, fields = {}) =>
  postPayment(service.apiUrl, tenant, paymentBody(fields), { key })

const keyOf = (key: string) =>
  get(service.apiUrl, tenant, `/v1/idempotency-keys/${encodeURIComponent(key)}`)

const ended = (key: string) =>
  until(async () => {
    const { json } = await keyOf(key)
    return json['cancellation'] === 'in_progress' ? undefined : json['cancellation']
  })

describe('a key that was never used', () => {
  test('is final: a request that arrives later executes nothing, whatever it asks for', async () => {
    const key = `order ${randomUUID()}`

    const canceled = await cancel(key)
    expect(canceled.status).toBe(200)
    expect(canceled.json).toMatchObject({
      key,
      operation: 'idempotency_key.cancel',
      status: 'completed',
      resource: null,
      cancellation: 'prevented',
    })

    const late = await pay(`"${key}"`)
    expectProblem(late, 'operation-canceled')
    expect(late.headers.get('idempotent-replayed')).toBe('true')
    const other = await pay(`"${key}"`, { amount: 1 })
    expect([other.status, other.text]).toEqual([late.status, late.text])
    const local = await post(
      service.apiUrl,
      tenant,
      '/v1/webhook-endpoints',
      { url: 'https://example.com' },
      { key: `"${key}"` },
    )
    expect([local.status, local.text]).toEqual([late.status, late.text])
    expect((await cancel(key)).text).toBe(canceled.text)
  })

  test('of another tenant is another key', async () => {
    const key = randomUUID()
    await cancel(key, await service.createTenant())

    expect((await pay(key)).status).toBe(201)
  })

  test('is canceled or executed, but not both, when both requests arrive at once', async () => {
    const keys = Array.from({ length: 20 }, () => randomUUID())

    const answers = await Promise.all(
      keys.flatMap((key, index) => {
        const both = [() => pay(key), () => cancel(key)]
        return (index % 2 === 0 ? both : both.toReversed()).map((send) => send())
      }),
    )

    expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([])
    for (const key of keys) {
      const cancellation = await ended(key)
      const { json } = await keyOf(key)
      const resource = json['resource'] as { id: string } | null
      const kinds = resource === null ? [] : await executedKinds(service, resource)
      const charges = kinds.filter((kind) => kind === 'payment_intent.capture').length
      const refunds = kinds.filter((kind) => kind.startsWith('refund')).length
      expect(refunds).toBe(charges)
      expect(cancellation).toBe(charges === 0 ? 'prevented' : 'undone')
    }
  })
})

describe('a key that was used', () => {
  test('has its payment refunded, and keeps its answer', async () => {
    const key = randomUUID()
    const first = await pay(key)
    const { id } = first.json as { id: string }

    const canceled = await cancel(key)
    expect(canceled.status).toBe(202)
    expect(canceled.json).toMatchObject({ cancellation: 'in_progress', resource: { id } })
    expect(canceled.headers.get('location')).toBe(`/v1/idempotency-keys/${key}`)
    expect(canceled.headers.get('retry-after')).toMatch(/^\d+$/)

    expect(await ended(key)).toBe('undone')
    const payment = await get(service.apiUrl, tenant, `/v1/payments/${id}`)
    expect(payment.json).toMatchObject({ status: 'succeeded', amount_refunded: 1999 })
    // The key is kept for a whole retention from its cancellation on.
    expect(await pay(key)).toMatchObject({ status: first.status, text: first.text })
    expect(await cancel(key)).toMatchObject({ status: 200, json: { cancellation: 'undone' } })
  })

  test.each([
    ['has its hold released', { capture_method: 'manual' }, 'undone', 'canceled'],
    [
      'needs nothing after a decline',
      { payment_method: 'pm_card_chargeDeclined' },
      'nothing_to_undo',
      'declined',
    ],
  ])('%s', async (_, fields, cancellation, status) => {
    const key = randomUUID()
    await pay(key, fields)

    await cancel(key)

    expect(await ended(key)).toBe(cancellation)
    const { id } = (await keyOf(key)).json['resource'] as { id: string }
    const payment = await get(service.apiUrl, tenant, `/v1/payments/${id}`)
    expect(payment.json['status']).toBe(status)
  })

  const on = async (status: 'succeeded' | 'requires_capture', action: string) =>
    `/v1/payments/${(await makePayment(service, tenant, status)).id}/${action}`

  test.each<[string, () => Promise<string> | string, object | undefined]>([
    ['a refund', () => on('succeeded', 'refunds'), {}],
    ['a change of our own', () => '/v1/webhook-endpoints', { url: 'https://example.com/hooks' }],
    ['an adjustment', () => on('requires_capture', 'adjust'), { amount: 2499 }],
    ['a cancellation', () => on('requires_capture', 'cancel'), undefined],
  ])('for %s cannot be canceled', async (_, pathOf, body) => {
    const key = randomUUID()
    const { status } = await post(service.apiUrl, tenant, await pathOf(), body, { key })
    expect(status).toBeLessThan(202)

    expectProblem(await cancel(key), 'operation-not-cancelable')
    expect((await keyOf(key)).json['cancellation']).toBeNull()
  })

  test('needs an API key that may refund', async () => {
    const key = randomUUID()
    await pay(key)
    const mayNotRefund = await service.createTenant()
    await service.store.sql`
      update api_keys set scopes = '{payments:read,payments:write}' where tenant_id = ${mayNotRefund.id}
    `

    expectProblem(await cancel(key, mayNotRefund), 'scope-missing')
  })

  test('is not written when it is like a card number, or when the body asks for something', async () => {
    const card = '4242424242424242'
    expectProblem(await cancel(card), 'card-number-refused')
    const key = randomUUID()
    const path = `/v1/idempotency-keys/${key}/cancel`
    const reason = await post(service.apiUrl, tenant, path, { reason: 'duplicate' })

    expectProblem(reason, 'unknown-field')
    expect([(await keyOf(card)).status, (await keyOf(key)).status]).toEqual([404, 404])
  })

  test('must be one that a request can have', async () => {
    expectProblem(await cancel('é'), 'resource-not-found')
    expectProblem(await cancel('x'.repeat(256)), 'resource-not-found')
  })
})

describe('while no worker runs', () => {
  const api = limitedApi({ MAX_STORED_KEYS: '3' })

  test('a request that waits gets the answer of the cancellation', async () => {
    const owner = await api.createTenant()
    const key = randomUUID()
    const prefer = { prefer: 'wait=20' }
    const waiting = postPayment(api.url, owner, paymentBody(), { key, headers: prefer })
    await until(
      async () => (await get(api.url, owner, `/v1/idempotency-keys/${key}`)).status === 200,
    )

    const canceled = await cancel(key, owner, api.url)

    expect(canceled.json).toMatchObject({ operation: 'payment.create', cancellation: 'prevented' })
    expectProblem(await waiting, 'operation-canceled')
    const { id } = canceled.json['resource'] as { id: string }
    const payment = await get(api.url, owner, `/v1/payments/${id}`)
    expect(payment.json).toMatchObject({ status: 'canceled', cancellation_reason: 'abandoned' })
  })

  test('a tenant cannot cancel more unused keys than it may store', async () => {
    const owner = await api.createTenant()
    const answers = []
    for (let sent = 0; sent < 4; sent += 1) {
      answers.push(await cancel(randomUUID(), owner, api.url))
    }

    expect(answers.slice(0, 3).map(({ status }) => status)).toEqual([200, 200, 200])
    expectProblem(answers[3] as ApiResponse, 'too-many-stored-keys')
  })
})
