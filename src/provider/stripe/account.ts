// Reads which account of Stripe a secret key belongs to.
import Stripe from 'stripe'
import { withinTimeLimit, type Connection } from './connection.ts'

/**
 * The id of the account, with the mode of the key: the objects of both modes are apart
 * (https://docs.stripe.com/keys). Undefined when the key is restricted and may not read it.
 *
 * @throws the errors of the connection, or an Error when the answer has no account id.
 */
export async function readAccount(
  connection: Connection,
  secretKey: string,
): Promise<string | undefined> {
  try {
    const { id } = await withinTimeLimit(connection, () =>
      connection.stripe.accounts.retrieveCurrent(),
    )
    if (typeof id !== 'string' || !/^acct_\w+$/.test(id)) throw new Error('the account has no id')
    return `${id} ${/^[sr]k_live_/.test(secretKey) ? 'live' : 'test'}`
  } catch (error) {
    if (error instanceof Stripe.errors.StripePermissionError) return undefined
    throw error
  }
}
