// The machine-readable idempotency policy, and the link to it from every keyed request.
import { describe, expect, test } from '@jest/globals'
import { fetchApi } from '../../support/documented.ts'
import { get, read } from '../../support/client.ts'
import { startLimitedApiOn } from '../../support/limited-api.ts'
import { service, tenant } from '../../support/shared-service.ts'

const PATH = '/.well-known/idempotency-policy'

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
    const api = await startLimitedApiOn(service.databaseUrl, {
      IDEMPOTENCY_FLAVOR: 'stripe',
      EXPIRED_KEYS: 'gone',
      KEY_RETENTION_SECONDS: '172800',
      MAX_ACTIVE_KEYS: '0',
      RATE_LIMIT_WRITES: '7',
      RATE_LIMIT_WINDOW_SECONDS: '3',
    })

    const { json } = await policyAt(api.url)
    await api.stop()

    expect(json).toMatchObject({
      flavor: 'stripe',
      retention_seconds: 172_800,
      expired_keys: 'gone',
      answers: { mismatch: { status: 400 }, expired_key: { status: 410 } },
      limits: { active_keys: null, writes: { requests: 7, window_seconds: 3 } },
    })
  })
})

test('the link to the policy is not on the answer to a GET', async () => {
  const list = await get(service.apiUrl, tenant, '/v1/payments')

  expect(list.headers.get('link')).toBeNull()
})
