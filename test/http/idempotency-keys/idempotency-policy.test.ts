// The machine-readable idempotency policy, and the link to it from every keyed request.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { routes } from '../../../src/http/server/routes.ts'
import { fetchApi } from '../../support/documented.ts'
import { get, paymentBody, post, postPayment, read, remove } from '../../support/client.ts'
import { service, tenant } from '../../support/shared-service.ts'

const PATH = '/.well-known/idempotency-policy'
const LINK = `<${PATH}>; rel="describedby"`

const policyAt = async (url: string) => await read(await fetchApi(`${url}${PATH}`))

describe('the policy', () => {
  test('needs no API key, and can be cached', async () => {
    const policy = await policyAt(service.apiUrl)

    expect(policy.status).toBe(200)
    expect(policy.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(policy.headers.get('cache-control')).toBe('public, max-age=3600')
  })

  test('states the guarantees for idempotency keys', async () => {
    expect((await policyAt(service.apiUrl)).json).toMatchObject({
      flavor: 'ietf',
      header: 'Idempotency-Key',
      key: { min_length: 1, max_length: 255, made_by: 'client' },
      scope: 'tenant',
      scope_spans: ['api_keys', 'methods', 'paths'],
      retention_seconds: 86_400,
      expired_keys: 'new',
      required_for: { methods: ['POST', 'DELETE'] },
      first_sent: {
        time_header: 'Repeatability-First-Sent',
        max_age_seconds: 86_100,
        clock_skew_seconds: 300,
        too_old: { status: 412, retry_with_same_key: false },
      },
      fingerprint: { parts: ['method', 'path', 'body'], body: ['as_sent', 'as_validated'] },
      stored: {
        final: ['2xx', '402', '408', '409', '410'],
        never: expect.arrayContaining(['400', '422', '429', '5xx']),
        replayed_status: 'original',
        replayed_body: 'original_bytes',
      },
      answers: {
        missing_key: { status: 400 },
        mismatch: { status: 422, retry_with_same_key: false },
        in_flight: { status: 409, retry_with_same_key: true },
        expired_key: 'executed',
      },
      wait: { default_seconds: 20 },
      limits: { body_bytes: 65_536, request_age_seconds: null },
    })
  })

  test('follows the settings', async () => {
    const { url, process } = await service.startApi({
      IDEMPOTENCY_FLAVOR: 'stripe',
      EXPIRED_KEYS: 'gone',
      KEY_RETENTION_SECONDS: '172800',
      MAX_ACTIVE_KEYS: '0',
      RATE_LIMIT_WRITES: '7',
      RATE_LIMIT_WINDOW_SECONDS: '3',
    })
    const { json } = await policyAt(url)
    process.kill('SIGTERM')

    expect(json).toMatchObject({
      flavor: 'stripe',
      retention_seconds: 172_800,
      expired_keys: 'gone',
      answers: { mismatch: { status: 400 }, expired_key: { status: 410 } },
      limits: { active_keys: null, writes: { requests: 7, window_seconds: 3 } },
    })
  })

  test('states the real key length and statuses', async () => {
    const { json } = await policyAt(service.apiUrl)
    const { max_length: longest } = json['key'] as { max_length: number }
    const unique = randomUUID()
    const longestKey = unique.padEnd(longest, 'k')
    const first = await postPayment(service.apiUrl, tenant, paymentBody(), { key: longestKey })
    const tooLong = await postPayment(service.apiUrl, tenant, paymentBody(), {
      key: `${longestKey}k`,
    })
    const other = await postPayment(service.apiUrl, tenant, paymentBody({ amount: 5 }), {
      key: longestKey,
    })

    const { mismatch, malformed_key: malformed } = json['answers'] as Record<
      string,
      { status: number; type: string }
    >
    expect(first.status).toBe(201)
    expect(tooLong.status).toBe(malformed?.status)
    expect(other).toMatchObject({ status: mismatch?.status, json: { type: mismatch?.type } })
  })
})

test('what the policy says of a DELETE holds: its retry gets the original status', async () => {
  const url = 'https://example.com/hook'
  const made = await post(service.apiUrl, tenant, '/v1/webhook-endpoints', { url })
  const path = `/v1/webhook-endpoints/${String(made.json['id'])}`
  const key = randomUUID()

  const first = await remove(service.apiUrl, tenant, path, { key })
  const retry = await remove(service.apiUrl, tenant, path, { key })
  const other = await remove(service.apiUrl, tenant, path)

  expect(retry).toMatchObject({ status: first.status, text: first.text })
  expect(retry.headers.get('idempotent-replayed')).toBe('true')
  expect(other.status).toBe(404)
})

describe('the link to the policy', () => {
  test('is on success, replay and refusal of a keyed request', async () => {
    const key = randomUUID()
    const send = (options: object, body = paymentBody()) =>
      postPayment(service.apiUrl, tenant, body, options)
    const answers = [
      await send({ key }),
      await send({ key }),
      await send({ key }, paymentBody({ amount: 5 })),
      await send({ key: '' }),
      await postPayment(service.apiUrl, { ...tenant, apiKey: 'sk_none' }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([201, 201, 422, 400, 401])
    expect(answers.map(({ headers }) => headers.get('link'))).toEqual(answers.map(() => LINK))
  })

  const keyed = routes.flatMap((route) => [
    ...(route.post?.access === 'tenant' && route.post.isKeyless !== true
      ? [['POST', route.path] as const]
      : []),
    ...(route.delete?.access === 'tenant' ? [['DELETE', route.path] as const] : []),
  ])

  test.each(keyed)('is on every answer to %s %s', async (method, path) => {
    const headers = { authorization: `Bearer ${tenant.apiKey}` }
    const url = `${service.apiUrl}${path.replaceAll(':id', 'any')}`
    const answer = await fetchApi(url, { method, headers })

    expect(answer.status).toBe(400)
    expect(answer.headers.get('link')).toBe(LINK)
  })

  test('is not on the answer to a GET', async () => {
    const list = await get(service.apiUrl, tenant, '/v1/payments')

    expect(list.headers.get('link')).toBeNull()
  })
})
