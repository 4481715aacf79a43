// Reads which account of Stripe a secret key belongs to.
import Stripe from 'stripe'
import { withinTimeLimit } from '../time-limit.ts'
import { type Connection } from './connection.ts'
import { isStripesOwn } from './errors.ts'

/**
 * The id of the account, with the mode of the key: the objects of both modes are apart
 * (https://docs.stripe.com/keys). Stripe also names the account when it refuses a restricted key
 * that may not read it (stripe/stripe-node#2246). Undefined when that refusal names none.
 *
 * @throws the errors of the connection, or an Error when the answer has no account id.
 */
export async function readAccount(
  connection: Connection,
  secretKey: string,
): Promise<string | undefined> {
  const mode = /^[sr]k_live_/.test(secretKey) ? 'live' : 'test'
  try {
    const { id } = await withinTimeLimit(connection, () =>
      connection.stripe.accounts.retrieveCurrent(),
    )
    if (typeof id !== 'string' || !/^acct_\w+$/.test(id)) throw new Error('the account has no id')
    return `${id} ${mode}`
  } catch (error) {
    // A proxy may answer 403, too.
    if (!(error instanceof Stripe.errors.StripePermissionError) || !isStripesOwn(error)) throw error
    const [, named] = /'(acct_\w+)'/.exec(error.message) ?? []
    return named && `${named} ${mode}`
  }
}
