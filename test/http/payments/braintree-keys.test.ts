// Tests a payment at Braintree whose answer is lost, in an account with request keys and in one without.
import { afterEach, expect, test } from '@jest/globals'
import { setProviders } from '../../../src/db/tenants/tenants.ts'
import {
  settingsFor,
  startStandIn,
  type RunningStandIn,
} from '../../provider/braintree/adapter-calls.ts'
import { paymentBody, postPayment } from '../../support/client.ts'
import { startServiceInProcess, type ServiceInProcess } from '../../support/service-in-process.ts'

let braintree: RunningStandIn
let service: ServiceInProcess

afterEach(async () => {
  await service.stop()
  await braintree.close()
})

test.each([
  ['with keys it is sent again, and charges once', true],
  ['without keys it is looked up, and found', false],
])('%s', async (_title, hasKeys) => {
  braintree = await startStandIn()
  await braintree.control('POST', '/settings', { request_keys: hasKeys })
  service = await startServiceInProcess({
    ...settingsFor(braintree.url),
    BRAINTREE_REQUEST_KEYS: String(hasKeys),
  })
  const tenant = await service.createTenant({ basisPoints: 0, fixedMinor: 0 })
  await setProviders(service.store.sql, tenant.id, [{ provider: 'braintree' }])
  await braintree.addFault({
    match: { method: 'POST', path: '/transactions' },
    fault: 'reset_after',
  })

  const body = paymentBody({ currency: 'eur', payment_method: 'fake-valid-nonce' })
  const answer = await postPayment(service.apiUrl, tenant, body)

  expect(answer).toMatchObject({ status: 201, json: { status: 'succeeded' } })
  expect((await braintree.executed()).map(({ kind }) => kind)).toEqual([
    'transaction.sale',
    'transaction.submit_for_settlement',
  ])
  const sales = await service.store.sql`
    select id from phase_runs
    where tenant_id = ${tenant.id} and asked ->> 'call' = 'transaction.sale'
  `
  expect(sales).toHaveLength(hasKeys ? 2 : 1)
})
