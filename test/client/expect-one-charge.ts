// Checks what a test charged, by the service's records and by the provider's log.
import { expect } from '@jest/globals'
import { unwrap } from '../../client/errors.ts'
import { createClient } from '../../client/index.ts'
import type { ExecutedCall, Service, Tenant } from '../support/service.ts'

/** Asserts that the tenant has exactly one payment and that the provider charged the order once. */
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

/** The provider's log entries for the order, of all payments. */
export async function executedForOrder(service: Service, order: string): Promise<ExecutedCall[]> {
  const { data } = (await service.control('GET', 'executed')) as { data: ExecutedCall[] }
  return data.filter(({ metadata }) => metadata['order'] === order)
}
