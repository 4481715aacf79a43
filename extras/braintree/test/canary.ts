// The secrets of Braintree, and a payment with them, for the search for secrets in logs, jobs and tables.
import { randomBytes } from 'node:crypto'
import { expect } from '@jest/globals'
import { setProviders } from '../../../src/db/tenants/tenants.ts'
import type { Canary } from '../../../test/security/canary.ts'
import { paymentBody, postPayment } from '../../../test/support/client.ts'
import { KEYS, settingsFor, startStandIn } from './adapter-calls.ts'

const PRIVATE_KEY = randomBytes(12).toString('hex')

export const canary: Canary = {
  secrets: [
    ["Braintree's private key", PRIVATE_KEY],
    ['the credentials for Braintree', btoa(`${KEYS.publicKey}:${PRIVATE_KEY}`)],
  ],
  async start() {
    const standIn = await startStandIn()
    return {
      settings: { ...settingsFor(standIn.url), BRAINTREE_PRIVATE_KEY: PRIVATE_KEY },
      /** A payment at Braintree, which refuses its first request. */
      async use(service) {
        const tenant = await service.createTenant()
        await setProviders(service.store.sql, tenant.id, [{ provider: 'braintree' }])
        await standIn.addFault({ fault: 'rate_limited' })
        const body = paymentBody({ currency: 'eur', payment_method: 'fake-valid-nonce' })
        const paid = await postPayment(service.apiUrl, tenant, body)
        expect(paid.json).toMatchObject({ status: 'succeeded', provider: { name: 'braintree' } })
      },
      stop: () => standIn.close(),
    }
  },
}
