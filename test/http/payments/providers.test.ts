// Which payment methods a new payment may name, and that one without a provider is refused.
import { expect, test } from '@jest/globals'
import { setProviders } from '../../../src/db/tenants/tenants.ts'
import { countRows } from '../../db/reservations.ts'
import { paymentBody, postPayment } from '../../support/client.ts'
import { limitedApi } from '../../support/for-file.ts'
import { expectProblem } from '../payments.ts'

const api = limitedApi()

test('nothing is written when no provider takes the currency', async () => {
  const tenant = await api.createTenant()
  await setProviders(api.store.sql, tenant.id, [{ provider: 'stripe', currencies: ['eur'] }])

  expectProblem(await postPayment(api.url, tenant, paymentBody({ currency: 'usd' })), 'no-provider')

  expect(await countRows(api.store.sql, 'idempotency_keys', tenant.id)).toBe(0)
})

test.each([
  ['neither', {}, '/payment_method'],
  [
    'both',
    { payment_method: 'pm_1', payment_methods: { stripe: 'pm_card_visa' } },
    '/payment_methods',
  ],
  ['an unknown provider', { payment_methods: { paypal: 'x' } }, '/payment_methods/paypal'],
])('a body with %s is refused', async (_title, fields, pointer) => {
  const { payment_method: _one, ...others } = paymentBody()
  const tenant = await api.createTenant()

  const answer = await postPayment(api.url, tenant, { ...others, ...fields })

  expect(answer.status).toBe(422)
  expect(answer.json['errors']).toMatchObject([{ pointer }])
})
