// Implements the account of the secret key.
import type { Endpoint } from './api-request.ts'

/** GET /v1/account. An account has the same id in both modes. */
export const retrieveAccount: Endpoint = ({ account }) => {
  const [name] = account.split(' ')
  return { status: 200, body: { id: `acct_${name}`, object: 'account', type: 'standard' } }
}
