// Implements the endpoints of /v1/customers (https://docs.stripe.com/api/customers): a customer
// belongs to the account of the secret key, as every object does.
import type Stripe from 'stripe'
import { newId } from '../ids.ts'
import type { Endpoint } from '../requests/endpoint.ts'
import { readMetadata, readString, type Parameters } from '../requests/parameters.ts'
import { invalidParameter } from '../requests/stripe-errors.ts'
import type { Records } from '../storage.ts'

/** Members that the stand-in never sets. They exist because clients may read them. */
const UNUSED_MEMBERS = {
  address: null,
  balance: 0,
  currency: null,
  default_source: null,
  delinquent: false,
  discount: null,
  invoice_settings: {
    custom_fields: null,
    default_payment_method: null,
    footer: null,
    rendering_options: null,
  },
  phone: null,
  preferred_locales: [],
  shipping: null,
  tax_exempt: 'none',
  test_clock: null,
}

/** POST /v1/customers. */
export const createCustomer: Endpoint = ({ params, nowMs }, { objects }) => {
  const customer = {
    id: newId('cus'),
    object: 'customer',
    ...UNUSED_MEMBERS,
    created: Math.floor(nowMs / 1000),
    description: readString(params, 'description') ?? null,
    email: readString(params, 'email') ?? null,
    name: readString(params, 'name') ?? null,
    metadata: readMetadata(params),
    livemode: false,
  } satisfies Stripe.Customer
  objects.save(customer)
  return { status: 200, body: customer }
}

/**
 * Reads the id of a customer in a parameter.
 *
 * @throws StripeError 400 when the customer does not exist.
 */
export function readCustomer(params: Parameters, { objects }: Records): string | null {
  const id = readString(params, 'customer')
  if (id === undefined) return null
  if (objects.find('customer', id) === undefined) {
    throw invalidParameter('customer', `No such customer: '${id}'`, 'resource_missing')
  }
  return id
}
