// What docs/api.md, the policy and the problem pages promise and no other test shows, one row each. The service has
// its default settings and no worker, so that accepted operations stay unfinished.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import {
  get,
  paymentBody,
  post,
  postPayment,
  read,
  type PostOptions,
} from '../../support/client.ts'
import helmet from 'helmet'
import { securityHeaders } from '../../../src/http/responses/answer.ts'
import { fetchApi } from '../../support/documented.ts'
import { expectProblem } from '../payments.ts'
import { limitedApi, tenantOf } from '../../support/for-file.ts'

interface Policy {
  readonly key: { readonly forms: readonly { form: string; pattern?: string }[] }
  readonly stored: { readonly final_problems: readonly { type: string }[] }
  readonly limits: { readonly body_bytes: number; readonly json_levels: number }
}

const api = limitedApi()
const tenant = tenantOf(api)

const FIELDS = ['amount', 'currency', 'payment_method']
const HOOKS = '/v1/webhook-endpoints'
const pay = (fields = {}, options: PostOptions = {}) =>
  postPayment(api.url, tenant, paymentBody(fields), options)
const hook = (url: string) => post(api.url, tenant, HOOKS, { url })
const show = (path: string) => get(api.url, tenant, path)
const at = async (path: string, init: RequestInit = {}) =>
  await read(await fetchApi(`${api.url}${path}`, init))
const readPolicy = async () =>
  (await at('/.well-known/idempotency-policy')).json as unknown as Policy
const barePattern = async () => {
  const { forms } = (await readPolicy()).key
  return new RegExp(forms.find(({ form }) => form === 'bare')?.pattern ?? '')
}

/** What each of the bodies is refused for, with a key that an operation has. */
const refusedBodies: [string, string | object, number][] = [
  ['malformed-json', '{', 400],
  ['malformed-json', '[]', 400],
  ['invalid-amount', paymentBody({ amount: 0 }), 422],
  ['unknown-field', paymentBody({ amuont: 1 }), 422],
]

const promises: Record<string, () => Promise<void>> = {
  'a 202 has Location, Retry-After and the resource as it is now': async () => {
    const { status, headers, json } = await pay()
    const location = headers.get('location') ?? ''

    expect(status).toBe(202)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await show(location)).json).toEqual(json)
  },
  'a key is of one request from the first answer on, not only when it is completed': async () => {
    const key = randomUUID()
    await pay({}, { key })

    expectProblem(await pay({ amount: 5 }, { key }), 'idempotency-key-reused')
    expectProblem(await pay({}, { key }), 'operation-in-progress')
  },
  'a request that is refused before its key is compared changes nothing of the key': async () => {
    const key = randomUUID()
    await pay({}, { key })
    const before = (await show(`/v1/idempotency-keys/${key}`)).json
    for (const [type, body, status] of refusedBodies) {
      const refused = await postPayment(api.url, tenant, body, { key })
      expect(refused).toMatchObject({ status, json: { type: `/problems/${type}` } })
      expect(refused.headers.has('idempotency-key-expires')).toBe(false)
    }
    const unauthorized = await postPayment(api.url, { ...tenant, apiKey: 'sk_none' }, {}, { key })
    expectProblem(unauthorized, 'api-key-invalid')
    expect(unauthorized.headers.has('idempotency-key-expires')).toBe(false)

    expect((await show(`/v1/idempotency-keys/${key}`)).json).toEqual(before)
  },
  'the pattern of a bare key admits exactly the keys that are accepted': async () => {
    const pattern = await barePattern()
    for (const form of ['KEY', 'KEY"', '!KEY', '~KEY', ',KEY', '"KEY', 'a KEY', '%22KEY']) {
      const key = form.replace('KEY', randomUUID())
      const { status } = await pay({}, { key })
      expect([form, status]).toEqual([form, pattern.test(key) ? 202 : 400])
    }
  },
  'both forms name the same key': async () => {
    const key = randomUUID()
    await pay({}, { key })

    expectProblem(await pay({}, { key: `"${key}"` }), 'operation-in-progress')
  },
  'a body has the size and the levels of the policy': async () => {
    const { body_bytes: bytes, json_levels: levels } = (await readPolicy()).limits
    const send = (body: string) => postPayment(api.url, tenant, body)
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

    expect((await send(JSON.stringify(paymentBody()).padEnd(bytes))).status).toBe(202)
    expectProblem(await send(JSON.stringify(paymentBody()).padEnd(bytes + 1)), 'body-too-large')
    expectProblem(await send(nested(levels)), 'unknown-field')
    expectProblem(await send(nested(levels + 1)), 'nesting-too-deep')
  },
  'the page of each stored error says that it is final': async () => {
    const { final_problems: final } = (await readPolicy()).stored
    expect(final.length).toBeGreaterThan(0)
    for (const { type } of final) {
      const page = await at(type)
      expect([type, page.json['meaning']]).toEqual([
        type,
        expect.stringMatching(/replays|not executed again/),
      ])
    }
  },
  'errors lists each wrong field': async () => {
    const { json } = await pay(Object.fromEntries(FIELDS.map((name) => [name, true])))

    expect((json['errors'] as { pointer: string }[]).map(({ pointer }) => pointer)).toEqual(
      FIELDS.map((name) => `/${name}`),
    )
  },
  'errors has 20 entries at most': async () => {
    const fields = Array.from({ length: 25 }, (_, index) => [`field_${index}`, 1] as const)

    expect((await pay(Object.fromEntries(fields))).json['errors']).toHaveLength(20)
  },
  'an amount may have 8 digits, and in some currencies more': async () => {
    const largest = (currency: string, amount: number) => pay({ currency, amount })

    expect((await largest('usd', 99_999_999)).status).toBe(202)
    expectProblem(await largest('usd', 100_000_000), 'invalid-amount')
    expect((await largest('cop', 9_999_999_999)).status).toBe(202)
    expectProblem(await largest('cop', 10_000_000_000), 'invalid-amount')
  },
  'amount-too-small states the minimum of the currency': async () => {
    const { json } = await pay({ amount: 1 })

    expect(json['type']).toBe('/problems/amount-too-small')
    expect(JSON.stringify(json['errors'])).toContain('50 in usd')
  },
  'a wrong parameter is named, and for an unknown one those that exist': async () => {
    const repeated = await show('/v1/payments?limit=1&limit=2')
    const unknown = await show('/v1/payments?stauts=succeeded')
    const cursor = await show('/v1/payments?ending_before=pay_1')

    for (const answer of [repeated, unknown, cursor]) expectProblem(answer, 'invalid-query')
    expect(repeated.json['detail']).toContain('limit')
    expect(cursor.json['detail']).toContain('ending_before')
    expect(unknown.json['detail']).toContain('reference, limit, starting_after and ending_before')
  },
  'a page has 10 entries by default, newest first': async () => {
    const other = await api.createTenant()
    const ids: unknown[] = []
    for (let index = 0; index < 11; index += 1) {
      ids.unshift((await postPayment(api.url, other)).json['id'])
    }
    const { json } = await get(api.url, other, '/v1/payments')

    expect((json['data'] as { id: string }[]).map(({ id }) => id)).toEqual(ids.slice(0, 10))
    expect(json['has_more']).toBe(true)
  },
  'a tenant has 6,000 changes and 60,000 lookups a minute': async () => {
    const policyOf = async (answer: Promise<{ headers: Headers }>) =>
      (await answer).headers.get('ratelimit-policy')

    expect(await policyOf(pay())).toBe('"writes";q=6000;w=60')
    expect(await policyOf(show('/v1/payments'))).toBe('"reads";q=60000;w=60')
  },
  'a webhook URL must use https and may not be an address that is not public': async () => {
    const hosts = ['http://merchant.example/', 'https://127.0.0.1/', 'https://[fd00::1]/']
    for (const url of [...hosts, 'https://user:hunter2@merchant.example/']) {
      const answer = await hook(url)
      expectProblem(answer, 'webhook-url-refused')
      expect(answer.json['errors']).toEqual([{ pointer: '/url', detail: expect.any(String) }])
      expect(answer.text).not.toContain('hunter2')
    }
  },
  'only the answers that make a secret of a webhook endpoint show one': async () => {
    const made = await hook('https://merchant.example/')
    const path = `${HOOKS}/${String(made.json['id'])}`
    const rotated = await post(api.url, tenant, `${path}/rotate-secret`)
    const changed = await post(api.url, tenant, path, { description: 'shop' })

    for (const { json } of [made, rotated]) expect(json['secret']).toMatch(/^whsec_/)
    for (const answer of [changed, await show(path), await show(HOOKS)]) {
      expect(answer.text).not.toContain('whsec_')
    }
  },
  'every answer has a Request-Id of its own, also those of no route': async () => {
    const answers = [
      await pay(),
      await show('/v1/payments'),
      await at('/v1/nothing'),
      await at('/v1/payments', { method: 'PUT' }),
      await at('/problems/rate-limited'),
    ]
    const ids = answers.map(({ headers }) => headers.get('request-id'))

    expect(ids).not.toContain(null)
    expect(new Set(ids).size).toBe(ids.length)
  },
}

test.each(Object.entries(promises))(
  'the pages promise, and it holds: %s',
  async (_promise, check) => {
    await check()
  },
)

test('every answer forbids browsers to run, frame or load anything', async () => {
  const answers = [
    await postPayment(api.url, tenant),
    await get(api.url, tenant, '/v1/payments'),
    await get(api.url, tenant, '/v1/payments/pay_none'),
    await get(api.url, { ...tenant, apiKey: 'none' }, '/v1/payments'),
    await fetchApi(`${api.url}/healthz`),
    await fetchApi(`${api.url}/nothing`),
  ]

  for (const { headers } of answers) {
    expect(headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none'")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('strict-transport-security')).toMatch(/^max-age=31536000/)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-powered-by')).toBeNull()
  }
})

test('the headers are those that helmet recommends, without those that say nothing for an API', () => {
  const recommended: Record<string, string> = {}
  const response = {
    setHeader: (name: string, value: string) => (recommended[name.toLowerCase()] = value),
    removeHeader: () => {},
  }
  const setHeaders = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    strictTransportSecurity: { maxAge: 365 * 24 * 60 * 60 },
    xFrameOptions: { action: 'deny' },
    // For pages, or for browsers that are no longer in use.
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  })

  setHeaders({} as never, response as never, () => {})

  expect(securityHeaders).toEqual(recommended)
})
