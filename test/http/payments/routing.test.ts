// Tests to which provider a new payment of a tenant with several goes, and what is refused.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { inTransaction } from '../../../src/db/connection/transaction.ts'
import { assignCustomers } from '../../../src/db/tenants/provider-customers.ts'
import { setProviders } from '../../../src/db/tenants/tenants.ts'
import { countRows } from '../../db/reservations.ts'
import {
  settingsFor,
  startStandIn,
  type RunningStandIn,
} from '../../provider/braintree/adapter-calls.ts'
import { expectProblem } from '../payments.ts'
import { paymentBody, postPayment } from '../../support/client.ts'
import { startServiceInProcess, type ServiceInProcess } from '../../support/service-in-process.ts'
import type { Tenant } from '../../support/service.ts'

let other: RunningStandIn
let service: ServiceInProcess
let tenant: Tenant

beforeAll(async () => {
  other = await startStandIn()
  service = await startServiceInProcess(settingsFor(other.url))
})
beforeEach(async () => {
  tenant = await service.createTenant({ basisPoints: 0, fixedMinor: 0 })
})
afterAll(async () => {
  await service.stop()
  await other.close()
})

const PROVIDERS = [{ provider: 'braintree', currencies: ['eur'] }, { provider: 'stripe' }]
const METHODS = { stripe: 'pm_card_visa', braintree: 'fake-valid-nonce' }

const pay = (fields: object, key = randomUUID()) => {
  const { payment_method: _one, ...others } = paymentBody({ amount: 1_999, ...fields })
  return postPayment(service.apiUrl, tenant, others, { key, headers: { prefer: 'respond-async' } })
}

async function stored() {
  const { sql } = service.store
  const [row] = await sql`
    select payments.provider, payments.payment_method, operation.parameters
    from idempotency_keys as operation
    join payments
      on payments.tenant_id = operation.tenant_id and payments.id = operation.payment_id
    where operation.tenant_id = ${tenant.id}
  `
  return row
}

describe('a payment of a tenant with two providers', () => {
  beforeEach(() => setProviders(service.store.sql, tenant.id, PROVIDERS))

  test('goes to the first that takes its currency, and has the second as fallback', async () => {
    await pay({ currency: 'eur', payment_methods: METHODS })

    expect(await stored()).toMatchObject({
      provider: 'braintree',
      payment_method: 'fake-valid-nonce',
      parameters: { fallback: { provider: 'stripe', payment_method: 'pm_card_visa' } },
    })
  })

  test('has no fallback that refuses its amount', async () => {
    await pay({ currency: 'eur', amount: 10, payment_methods: METHODS })

    expect(await stored()).toMatchObject({ provider: 'braintree', parameters: {} })
  })

  test('goes to the only one that takes its currency', async () => {
    const answer = await pay({ currency: 'usd', payment_methods: METHODS })

    expect(answer.json).toMatchObject({ provider: { name: 'stripe' } })
    expect(await stored()).toMatchObject({ payment_method: 'pm_card_visa', parameters: {} })
  })

  test('keeps its provider when those of the tenant change before a retry', async () => {
    const key = randomUUID()
    const first = await pay({ currency: 'usd', payment_methods: METHODS }, key)
    await setProviders(service.store.sql, tenant.id, [{ provider: 'braintree' }])

    const retry = await pay({ currency: 'usd', payment_methods: METHODS }, key)

    expect(retry.json['id']).toBe(first.json['id'])
    expect(await stored()).toMatchObject({ provider: 'stripe' })
  })
})

test('a customer of the first provider has no fallback', async () => {
  await setProviders(service.store.sql, tenant.id, [
    { provider: 'stripe' },
    { provider: 'braintree' },
  ])

  const customers = [`cus_${randomUUID().replaceAll('-', '')}`]
  const assignment = { tenantId: tenant.id, provider: 'stripe', customers }
  await inTransaction(service.store.sql, (tx) => assignCustomers(tx, assignment))

  await pay({ currency: 'eur', customer: customers[0], payment_methods: METHODS })

  expect(await stored()).toMatchObject({ provider: 'stripe', parameters: {} })
})

test.each([
  ['no provider takes the currency', { currency: 'usd', payment_methods: METHODS }],
  [
    'no payment method is of a provider that does',
    { currency: 'eur', payment_methods: { stripe: 'pm_1' } },
  ],
])('nothing is written when %s', async (_title, fields) => {
  await setProviders(service.store.sql, tenant.id, [{ provider: 'braintree', currencies: ['eur'] }])

  expectProblem(await pay(fields), 'no-provider')

  expect(await countRows(service.store.sql, 'idempotency_keys', tenant.id)).toBe(0)
})

test.each([
  ['neither', {}, '/payment_method'],
  ['both', { payment_method: 'pm_1', payment_methods: METHODS }, '/payment_methods'],
  ['an unknown provider', { payment_methods: { paypal: 'x' } }, '/payment_methods/paypal'],
])('a body with %s is refused', async (_title, fields, pointer) => {
  const { payment_method: _one, ...others } = paymentBody()
  const answer = await postPayment(service.apiUrl, tenant, { ...others, ...fields })

  expect(answer.status).toBe(422)
  expect(answer.json['errors']).toMatchObject([{ pointer }])
})
