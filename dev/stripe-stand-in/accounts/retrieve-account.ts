// Implements the account of the secret key.
import type Stripe from 'stripe'
import type { Endpoint } from '../requests/endpoint.ts'

const STANDARD = {
  object: 'account',
  type: 'standard',
  charges_enabled: true,
  details_submitted: true,
  email: null,
  payouts_enabled: true,
} as const

/** GET /v1/account. An account has the same id in both modes. */
export const retrieveAccount: Endpoint = ({ account }) => {
  const [name] = account.split(' ')
  const shown = { ...STANDARD, id: `acct_${name}` } satisfies Stripe.Account
  return { status: 200, body: shown }
}
