// Implements the account of the secret key.
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
  return { status: 200, body: { ...STANDARD, id: `acct_${name}` } }
}
