// Creates customers at the Stripe stand-in, and assigns them to tenants.
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { assignCustomers } from '../../src/db/tenants/provider-customers.ts'
import type { Service, Tenant } from './service.ts'

type Place = Pick<Service, 'providerUrl' | 'store'>

/** Sends a POST to Stripe's API with the secret key of the service. */
async function callStripe(place: Place, path: string, fields = {}): Promise<{ id: string }> {
  const response = await fetch(`${place.providerUrl}${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk_test_mock' },
    body: new URLSearchParams(fields),
  })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as { id: string }
}

/** Creates a customer that the tenant may charge, and returns its id. */
export async function makeCustomer(place: Place, tenant: Tenant): Promise<string> {
  const { id } = await callStripe(place, '/v1/customers')
  await assignCustomer(place, tenant, id)
  return id
}

/** Assigns a customer, also one of the tenant `from`. */
export async function assignCustomer(
  { store }: Place,
  tenant: Tenant,
  id: string,
  from?: Tenant,
): Promise<void> {
  const assignment = { tenantId: tenant.id, provider: 'stripe', customers: [id] }
  await inTransaction(store.sql, (tx) => assignCustomers(tx, { ...assignment, from: from?.id }))
}

/** Attaches a new card to the customer, and returns its id. */
export async function saveCard(place: Place, customer: string): Promise<string> {
  const { id } = await callStripe(place, '/v1/payment_methods/pm_card_visa/attach', { customer })
  return id
}

/** Creates a card that is attached to no customer, as a browser does, and returns its id. */
export async function makeCard(place: Place): Promise<string> {
  const terms = { amount: '1999', currency: 'usd', payment_method: 'pm_card_visa' }
  const intent = await callStripe(place, '/v1/payment_intents', terms)
  return String((intent as { payment_method?: string }).payment_method)
}
