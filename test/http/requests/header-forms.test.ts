// The forms that one header may have: media types, schemes, keys that a URL can name, and traces.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createApiServer } from '../../../src/http/limits/api-server.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { createLog } from '../../../src/log.ts'
import { fetchApi } from '../../support/documented.ts'
import { get, paymentBody, post, postPayment } from '../../support/client.ts'
import { startLimitedApi, type LimitedApi } from '../../support/limited-api.ts'
import type { Tenant } from '../../support/service.ts'

let api: LimitedApi
let tenant: Tenant

beforeAll(async () => {
  api = await startLimitedApi()
  tenant = await api.createTenant()
})
afterAll(() => api.stop())

const pay = (headers: Record<string, string>, key?: string) =>
  postPayment(api.url, tenant, paymentBody(), key === undefined ? { headers } : { key, headers })

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

describe('a key that no URL can name', () => {
  test.each(['.', '..', '"."', '".."'])('%j is refused', async (key) => {
    const answer = await pay({}, key)

    expect([answer.status, answer.json['type']]).toEqual([
      400,
      '/problems/idempotency-key-malformed',
    ])
  })

  test.each(['.', '..'])('%j is refused as a Repeatability-Request-ID', async (key) => {
    const answer = await fetchApi(`${api.url}/v1/payments`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tenant.apiKey}`,
        'content-type': 'application/json',
        'repeatability-request-id': key,
        'repeatability-first-sent': new Date().toUTCString(),
      },
      body: JSON.stringify(paymentBody()),
    })
    const { type } = (await answer.json()) as { type: string }

    expect([answer.status, type]).toEqual([400, '/problems/repeatability-request-id-malformed'])
  })

  test('leaves nothing behind', async () => {
    const rows = await api.store.sql`select from idempotency_keys where key in ('.', '..')`
    expect(rows).toEqual([])
  })
})

describe('a URL names the key', () => {
  test.each(['...', '.a', '%2e', '%2E%2E', 'a/../b', '/', '?', '#', '\\', 'a;b', '~', '"a b"'])(
    '%j',
    async (key) => {
      expect((await pay({}, key)).status).toBe(202)
      const text = key.startsWith('"') ? key.slice(1, -1) : key
      const path = `/v1/idempotency-keys/${encodeURIComponent(text)}`

      expect((await get(api.url, tenant, path)).json).toMatchObject({ key: text })
      expect((await post(api.url, tenant, `${path}/cancel`, {})).status).toBe(200)
    },
  )
})

describe('traceparent in the log', () => {
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
  const SPAN = '00f067aa0ba902b7'

  /** The log line of one request with the header. */
  const logLineOf = async (traceparent: string): Promise<Record<string, unknown>> => {
    const lines: string[] = []
    const log = createLog('api', 'info', { write: (line) => void lines.push(line) })
    const parts = { ...api.parts, log }
    const server = createApiServer(createApp(parts), parts).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await fetchApi(`http://127.0.0.1:${port}/healthz`, { headers: { traceparent } })
    server.close()
    return JSON.parse(lines.join('')) as Record<string, unknown>
  }

  test('has its own form', async () => {
    expect((await logLineOf(`00-${TRACE}-${SPAN}-01`))['trace']).toBe(TRACE)
    expect((await logLineOf(`00-${TRACE}-${SPAN}-01-more`))['trace']).toBeUndefined()
    expect((await logLineOf(randomUUID()))['trace']).toBeUndefined()
  })

  test.each([
    ['alone', '4242424242424242ffffffffffffffff'],
    ['inside random digits', 'a1b2c3d44242424242424242e5f60718'],
    ['inside a longer number', '00004242424242424242000000000000'],
  ])('shows no card number %s', async (_place, trace) => {
    expect(JSON.stringify(await logLineOf(`00-${trace}-${SPAN}-01`))).not.toContain('4242')
  })
})
