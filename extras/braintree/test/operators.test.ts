// What operators see of Braintree, and how they give it to a tenant.
import { expect, test } from '@jest/globals'
import { runCommandLine } from '../../../src/start/tenants/run.ts'
import { openTestStore } from '../../../test/db/reservations.ts'
import { adminApi } from '../../../test/support/for-file.ts'

const TENANT = 'tnt_01kac0xbvrf4v9rfw1zrk3bxsz'

const api = adminApi()

test('GET /admin/providers shows what Braintree declares, as the settings leave it', async () => {
  const { json } = await api.get('/admin/providers')

  expect(
    (json['data'] as { name: string }[]).find(({ name }) => name === 'braintree'),
  ).toMatchObject({
    is_default: false,
    key_window_seconds: 0,
    keeps_failures: false,
    settle_seconds: 90,
    look_up_lag_seconds: 3_600,
    authentication: false,
    minimum_amounts: {},
  })
})

async function run(args: readonly string[]) {
  const open = () => openTestStore(api.t.databaseUrl, 1)
  const { code, printed, errorOutput } = await runCommandLine(args, open)
  return { code, text: `${printed}${errorOutput}`.trimEnd() }
}

test('a tenant has it before Stripe, in some currencies', async () => {
  const [, id = ''] = /^tenant +(\S+)$/m.exec((await run(['create', 'Shop'])).text) ?? []

  const set = await run(['providers', id, 'braintree:eur,gbp', 'stripe'])

  expect(set).toEqual({ code: 0, text: 'braintree  eur, gbp\nstripe     every currency' })
  expect(await run(['providers', id])).toEqual(set)
})

test.each([
  ['braintree needs its currencies: braintree:eur,usd', 'braintree'],
  ['braintree does not take mga', 'braintree:eur,mga'],
])('%s', async (message, provider) => {
  const { code, text } = await run(['providers', TENANT, provider])

  expect({ code, text }).toEqual({ code: 2, text: expect.stringContaining(message) })
})
