// The security headers of every answer.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import helmet from 'helmet'
import { securityHeaders } from '../../../src/http/limits/security-headers.ts'
import { fetchApi } from '../../support/documented.ts'
import { get, postPayment } from '../../support/client.ts'
import { startLimitedApi, type LimitedApi } from '../../support/limited-api.ts'

let api: LimitedApi
beforeAll(async () => {
  api = await startLimitedApi()
})
afterAll(() => api.stop())

test('every answer forbids browsers to run, frame or load anything', async () => {
  const tenant = await api.createTenant()
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
