// What answers to invalid requests have in common. `verify/fuzz` has each request and its problem.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { problems, type ProblemType } from '../../../src/domain/problems/problems.ts'
import {
  get,
  paymentBody,
  post,
  postPayment,
  read,
  type ApiResponse,
} from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { limitedApi, tenantOf } from '../../support/for-file.ts'
import { expectProblem } from '../payments.ts'

const api = limitedApi()
const tenant = tenantOf(api)

const pay = (headers: Record<string, string>, key?: string) =>
  postPayment(api.url, tenant, paymentBody(), key === undefined ? { headers } : { key, headers })

/** A payment with only these headers. */
async function payWith(headers: Record<string, string>): Promise<ApiResponse> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
  const body = JSON.stringify(paymentBody())
  return await read(await fetchApi(`${api.url}/v1/payments`, { ...init, body }))
}

function expectWhole(answer: ApiResponse, type: ProblemType): void {
  expectProblem(answer, type)
  const { title, stripeType } = problems[type]
  expect(answer.json).toMatchObject({
    title,
    error: { type: stripeType, message: expect.any(String) },
  })
}

describe('an invalid request', () => {
  test('is refused when the Idempotency-Key is missing', async () => {
    const answer = await payWith({ authorization: `Bearer ${tenant.apiKey}` })
    expectWhole(answer, 'idempotency-key-missing')
  })

  test.each<[string, Record<string, string>, ProblemType]>([
    ['missing', {}, 'api-key-missing'],
    ['malformed', { authorization: 'Bearer nonsense' }, 'api-key-invalid'],
    ['unknown', { authorization: `Bearer sk_test_${'0'.repeat(32)}` }, 'api-key-invalid'],
  ])('gets 401 with a challenge when its API key is %s', async (_case, headers, type) => {
    const answer = await payWith({ 'idempotency-key': randomUUID(), ...headers })
    expectWhole(answer, type)
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="atomic-payments"')
    expect(answer.headers.get('link')).toContain('/.well-known/idempotency-policy')
  })

  test.each(['PUT', 'DELETE', 'PATCH'])('returns 405 with Allow for %s', async (method) => {
    const answer = await read(await fetchApi(`${api.url}/v1/payments`, { method }))
    expectWhole(answer, 'method-not-allowed')
    expect(answer.headers.get('allow')).toBe('GET, HEAD, POST')
  })

  test('leaves no row', async () => {
    const [rows] = await api.store.sql`
      select (select count(*) from payments) + (select count(*) from idempotency_keys)
        + (select count(*) from phase_runs) + (select count(*) from atomic_jobs.job) as count
    `
    expect(Number(rows?.['count'])).toBe(0)
  })
})

describe('Content-Type', () => {
  test.each([
    'application/json;',
    'application/json ; ',
    'application/json;;charset=utf-8;',
    'application/json; charset=utf-8 ;',
    'Application/JSON; Charset="UTF-8"',
    'application/json\t;\tcharset=Utf-8',
  ])('%j is JSON', async (type) => {
    expect((await pay({ 'content-type': type })).status).toBe(202)
  })

  test.each([
    'application/json;charset=utf-16;',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; charset = utf-8',
    'application/json; charset="utf-8',
    'application/json charset=utf-8',
    'application/jsonp;',
    '; charset=utf-8',
  ])('%j is refused', async (type) => {
    const answer = await pay({ 'content-type': type })

    expect([answer.status, answer.json['type']]).toEqual([
      415,
      '/problems/unsupported-content-type',
    ])
  })

  test('is read in linear time', async () => {
    const startedAt = performance.now()
    const answer = await pay({ 'content-type': `application/json${'; \t'.repeat(4_000)}x` })

    expect(answer.status).toBe(415)
    expect(performance.now() - startedAt).toBeLessThan(1_000)
  })
})

test.each(['bearer', 'BEARER', 'Bearer  '])('the scheme may be %j', async (scheme) => {
  expect((await pay({ authorization: `${scheme} ${tenant.apiKey}` })).status).toBe(202)
})

test.each(['...', '.a', '%2e', '%2E%2E', 'a/../b', '/', '?', '#', '\\', 'a;b', '~', '"a b"'])(
  'a URL names the key %j',
  async (key) => {
    expect((await pay({}, key)).status).toBe(202)
    const text = key.startsWith('"') ? key.slice(1, -1) : key
    const path = `/v1/idempotency-keys/${encodeURIComponent(text)}`

    expect((await get(api.url, tenant, path)).json).toMatchObject({ key: text })
    expect((await post(api.url, tenant, `${path}/cancel`, {})).status).toBe(200)
  },
)
