// The policy names exactly the answers that are given and stored, in flavours with other statuses.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { fetchApi } from '../../support/documented.ts'
import { paymentBody, post, postPayment, read, type ApiResponse } from '../../support/client.ts'
import { expireKey } from '../../support/expired-keys.ts'
import type { Tenant } from '../../support/service.ts'
import { expectReplay } from '../payments.ts'
import { ONE_TRY } from '../../support/for-file.ts'
import { startServiceInProcess, type ServiceInProcess } from '../../support/service-in-process.ts'

let service: ServiceInProcess
let tenant: Tenant
let url: string

interface Stored {
  readonly final: readonly string[]
  readonly final_problems: readonly { readonly status: number; readonly type: string }[]
  readonly never: readonly string[]
}

type Send = () => Promise<ApiResponse>

const refund = async (paymentMethod: string, key: string) => {
  const { json } = await postPayment(url, tenant, paymentBody({ payment_method: paymentMethod }))
  const path = `/v1/payments/${String(json['id'])}/refunds`
  return () => post(url, tenant, path, { amount: 1 }, { key })
}

/** Prepares a request whose first answer is final. */
const requests: Record<string, (key: string) => Promise<Send>> = {
  'payment-declined': async (key) => () =>
    postPayment(url, tenant, paymentBody({ payment_method: 'pm_card_chargeDeclined' }), { key }),
  // The provider refuses the refund, because no event has told the service of the dispute.
  'charge-disputed': (key) => refund('pm_card_createDispute', key),
  'operation-canceled': async (key) => {
    await post(url, tenant, `/v1/idempotency-keys/${key}/cancel`)
    await postPayment(url, tenant, paymentBody(), { key })
    return () => postPayment(url, tenant, paymentBody(), { key })
  },
}

const pay = (key: string, fields: object = {}, headers = {}) =>
  postPayment(url, tenant, paymentBody({ ...fields }), { key, headers })

/** Sends a payment with a fault at the provider, which lasts until the test ends. */
async function payDuring(fault: string, key: string): Promise<Send> {
  const match = { method: 'POST', path: '/v1/payment_intents' }
  await service.provider.addFault({ match, fault, times: 9 })
  await pay(key)
  return () => pay(key)
}

async function payWithoutKey(): Promise<ApiResponse> {
  const headers = { authorization: `Bearer ${tenant.apiKey}` }
  return await read(await fetchApi(`${url}/v1/payments`, { method: 'POST', headers }))
}

/** The table of API keys is locked, so that the API waits for the key of a tenant that it does not know. */
async function payWithoutStore(): Promise<ApiResponse> {
  const other = await service.createTenant()
  return await service.store.sql.begin(async (tx) => {
    await tx`lock table api_keys in access exclusive mode`
    return await postPayment(url, other)
  })
}

/** For each row of the policy's `answers` a request, sent twice, that gets it. */
const situations: Record<string, (key: string) => Promise<Send>> = {
  missing_key: async () => payWithoutKey,
  malformed_key: async () => () => pay('a b'),
  mismatch: async (key) => {
    await pay(key)
    return () => pay(key, { amount: 5 })
  },
  in_flight: async (key) => {
    service.worker.pause()
    await pay(key, {}, { prefer: 'respond-async' })
    return () => pay(key)
  },
  outcome_unknown: (key) => payDuring('nonsense_body', key),
  not_executed: (key) => payDuring('rate_limited', key),
  store_unavailable: async () => payWithoutStore,
  canceled: async (key) => {
    await post(url, tenant, `/v1/idempotency-keys/${key}/cancel`)
    return () => pay(key)
  },
  expired_key: async (key) => {
    await pay(key)
    await expireKey(service.store, tenant.id, key)
    return () => pay(key)
  },
}

/** Situations in which the request was compared with a stored key. */
const COMPARED = ['mismatch', 'in_flight', 'outcome_unknown', 'not_executed', 'canceled']

const SETTINGS = { ...ONE_TRY, CHECK_ON_READ_SECONDS: '3600' }

describe.each(['ietf', 'stripe'])('%s', (flavor) => {
  let stored: Stored
  let answers: Record<string, unknown>

  beforeAll(async () => {
    service = await startServiceInProcess({
      ...SETTINGS,
      IDEMPOTENCY_FLAVOR: flavor,
      EXPIRED_KEYS: flavor === 'ietf' ? 'new' : 'gone',
    })
    tenant = await service.createTenant()
    url = service.apiUrl
    const policy = await read(await fetchApi(`${url}/.well-known/idempotency-policy`))
    stored = policy.json['stored'] as Stored
    answers = policy.json['answers'] as Record<string, unknown>
  })

  afterEach(async () => {
    service.worker.resume()
    await service.provider.control('DELETE', '/faults')
  })

  afterAll(() => service.stop())

  test('no status is both final and never stored', () => {
    expect(stored.final.filter((status) => stored.never.includes(status))).toEqual([])
    for (const { status } of stored.final_problems) expect(stored.final).toContain(String(status))
  })

  test.each(Object.entries(requests))(
    '%s is stored, and the policy says so',
    async (type, prepare) => {
      const send = await prepare(randomUUID())
      const first = await send()
      const retry = await send()

      expect(retry.text).toBe(first.text)
      expect(retry.headers.get('idempotent-replayed')).toBe('true')
      expect(retry.headers.has('idempotency-key-expires')).toBe(true)
      expect(first.text).toContain(`/problems/${type}`)
      expect(stored.final_problems).toContainEqual({
        status: first.status,
        type: `/problems/${type}`,
      })
      expect(stored.never).not.toContain(String(first.status))
    },
  )

  test('each answer of the policy has a request that gets it', () => {
    expect(Object.keys(answers).toSorted()).toEqual(Object.keys(situations).toSorted())
  })

  test.each(Object.entries(situations))(
    '%s is answered, and stored or not, as the policy says',
    async (name, prepare) => {
      const send = await prepare(randomUUID())
      const [first, retry] = [await send(), await send()]
      const types = stored.final_problems.map(({ type }) => type)

      expect([first, retry].map(describeAnswer)).toEqual([answers[name], answers[name]])
      expect(retry.headers.get('idempotent-replayed') === 'true').toBe(
        retry.status === 201 || types.includes(typeOf(retry)),
      )
      expect(retry.headers.get('link')).toContain('/.well-known/idempotency-policy')
      expect(retry.headers.has('idempotency-key-expires')).toBe(
        retry.status === 201 || COMPARED.includes(name),
      )
    },
  )

  test('a status that is never stored leaves the key usable', async () => {
    const key = randomUUID()
    const refused = await postPayment(url, tenant, paymentBody({ amount: 0 }), { key })
    const accepted = await postPayment(url, tenant, paymentBody(), { key })

    expect(refused.status).toBe(flavor === 'ietf' ? 422 : 400)
    expect(stored.never.includes('422')).toBe(flavor === 'ietf')
    expect(accepted.status).toBe(201)
    expectReplay(await postPayment(url, tenant, paymentBody(), { key }), accepted)
  })

  test('a conflict that is not final leaves the key usable', async () => {
    const made = await postPayment(url, tenant)
    const key = randomUUID()
    const path = `/v1/payments/${String(made.json['id'])}`
    const refused = await post(url, tenant, `${path}/cancel`, undefined, { key })
    const accepted = await post(url, tenant, `${path}/refunds`, {}, { key })

    expect(refused.status).toBe(flavor === 'ietf' ? 409 : 400)
    expect(refused.headers.has('idempotent-replayed')).toBe(false)
    expect(accepted.status).toBe(201)
  })
})

const typeOf = ({ text }: ApiResponse) => /\/problems\/[a-z-]+/.exec(text)?.[0] ?? ''

/** An answer as the policy describes it. */
const describeAnswer = (answer: ApiResponse) =>
  answer.status === 201
    ? 'executed'
    : {
        status: answer.status,
        type: typeOf(answer),
        retry_with_same_key: answer.headers.has('retry-after'),
      }
