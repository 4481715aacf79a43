// What has really become of the payments of a test: by the service's own records, and by what the provider
// has executed.
import { expect } from '@jest/globals'
import { unwrap } from '../../client/errors.ts'
import { createClient } from '../../client/index.ts'
import type { ExecutedCall, Service, Tenant } from '../support/service.ts'

/** Fails the test unless the tenant has that payment alone, and the provider charged once for the order. */
export async function expectOneCharge(
  service: Service,
  { apiKey }: Tenant,
  order: string,
  apiUrl = service.apiUrl,
): Promise<void> {
  const client = createClient({ baseUrl: apiUrl, apiKey })
  const { data: payments } = unwrap(await client.GET('/v1/payments'))
  expect(payments).toMatchObject([{ status: 'succeeded', metadata: { order } }])
  const executed = await executedForOrder(service, order)
  expect(executed.map(({ kind }) => kind)).toEqual([
    'payment_intent.create',
    'payment_intent.capture',
  ])
}

/** By the provider's log, whichever payment it was for. */
export async function executedForOrder(service: Service, order: string): Promise<ExecutedCall[]> {
  const { data } = (await service.control('GET', 'executed')) as { data: ExecutedCall[] }
  return data.filter(({ metadata }) => metadata['order'] === order)
}
