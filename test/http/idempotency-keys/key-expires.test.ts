// Tests that every answer to a request whose key is stored says until when it is kept, and that no other one does.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import {
  get,
  paymentBody,
  post,
  postPayment,
  remove,
  type ApiResponse,
} from '../../support/client.ts'
import { service, tenant } from '../../support/shared-service.ts'

const pay = (key: string, fields = {}, headers = {}) =>
  postPayment(service.apiUrl, tenant, paymentBody(fields), { key, headers })
const hook = (key: string) => post(service.apiUrl, tenant, HOOKS, { url: HOOK }, { key })
const keyPath = (key: string) => `/v1/idempotency-keys/${encodeURIComponent(key)}`
const cancel = (key: string) => post(service.apiUrl, tenant, `${keyPath(key)}/cancel`)
const read = (key: string) => get(service.apiUrl, tenant, keyPath(key))
const HOOKS = '/v1/webhook-endpoints'
const HOOK = 'https://merchant.example/'

type Answers = Record<string, (key: string) => Promise<ApiResponse>>

const aboutStoredKeys: Answers = {
  'a payment': pay,
  'a payment that is answered later': (key) => pay(key, {}, { prefer: 'respond-async' }),
  'a decline': (key) => pay(key, { payment_method: 'pm_card_chargeDeclined' }),
  'a replay': (key) => pay(key).then(() => pay(key)),
  'another request with the key': (key) => pay(key).then(() => pay(key, { amount: 5 })),
  'a change of an endpoint': hook,
  'a replay of a change of an endpoint': (key) => hook(key).then(() => hook(key)),
  'a change of an endpoint with the key of a payment': (key) => pay(key).then(() => hook(key)),
  'a deletion': async (key) => {
    const { headers } = await hook(randomUUID())
    return await remove(service.apiUrl, tenant, headers.get('location') ?? '', { key })
  },
  'a request with a canceled key': (key) => cancel(key).then(() => pay(key)),
}

test.each(Object.entries(aboutStoredKeys))(
  'Idempotency-Key-Expires is on the answer to %s',
  async (_what, ask) => {
    const key = randomUUID()
    const answer = await ask(key)

    const expires = answer.headers.get('idempotency-key-expires')
    const { json } = await read(key)
    expect(
      Math.abs(Date.parse(expires ?? '') - Date.parse(String(json['expires_at']))),
    ).toBeLessThan(60_000)
  },
)

const aboutNoStoredKey: Answers = {
  'an invalid body': (key) => pay(key, { amount: 0 }),
  'an unknown resource': (key) =>
    post(service.apiUrl, tenant, '/v1/payments/pay_01k9zq4s5tfexbgc1m6v8w2d3h/cancel', undefined, {
      key,
    }),
  'a key that was never used': read,
}

test.each(Object.entries(aboutNoStoredKey))(
  'Idempotency-Key-Expires is not on the answer to %s',
  async (_what, ask) => {
    const key = randomUUID()

    expect((await ask(key)).headers.has('idempotency-key-expires')).toBe(false)
    expect((await read(key)).status).toBe(404)
  },
)

test('a key of nothing but spaces, in quotes, is a key as any other', async () => {
  const spaces = ' '.repeat(1 + Math.floor(Math.random() * 200))
  const first = await pay(`"${spaces}"`)
  const retry = await pay(`"${spaces}"`)
  const other = await pay(`"${spaces} "`)

  expect(first.status).toBe(201)
  expect(retry.text).toBe(first.text)
  expect(other.json['id']).not.toBe(first.json['id'])
  expect((await read(spaces)).json['key']).toBe(spaces)
})
