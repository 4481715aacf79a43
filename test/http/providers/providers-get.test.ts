// GET /admin/providers: what each provider promises and can do.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startAdminApi, type AdminApi } from '../../support/admin.ts'
import { expectProblem } from '../payments.ts'

let api: AdminApi

beforeAll(async () => {
  api = await startAdminApi({ PROVIDER_KEY_WINDOW_SECONDS: '3600', PROVIDER_SETTLE_SECONDS: '90' })
})
afterAll(() => api.stop())

test('shows what each provider declares, as the settings leave it', async () => {
  const { status, json } = await api.get('/admin/providers')

  expect(status).toBe(200)
  expect(json).toMatchObject({
    object: 'list',
    data: [
      {
        object: 'provider',
        name: 'stripe',
        is_default: true,
        key_window_seconds: 3_600,
        keeps_failures: true,
        settle_seconds: 90,
        look_up_lag_seconds: 0,
        authentication: true,
        minimum_amounts: { usd: 50 },
      },
      {
        name: 'braintree',
        is_default: false,
        key_window_seconds: 0,
        keeps_failures: false,
        settle_seconds: 90,
        look_up_lag_seconds: 3_600,
        authentication: false,
        minimum_amounts: {},
      },
    ],
    has_more: false,
  })
})

test('takes no query', async () => {
  expectProblem(await api.get('/admin/providers?name=stripe'), 'invalid-query')
})
