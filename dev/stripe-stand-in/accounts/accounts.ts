// Tells which account a secret key belongs to. Objects and idempotency keys belong to an account in
// one of its modes, not to a key (https://docs.stripe.com/keys).

/** The account of every key that names none, in test mode. */
export const DEFAULT_ACCOUNT = 'default test'

/**
 * The account and the mode of a secret key: `sk_live_acctNAME_...` is a key of the account NAME in
 * live mode. Undefined when the text is not a secret key.
 */
export function accountOf(secretKey: string): string | undefined {
  const parts = /^[sr]k_(test|live)_(?:acct([A-Za-z0-9]+)_)?\w/.exec(secretKey)
  if (parts === null) return undefined
  const [, mode = 'test', name = 'default'] = parts
  return `${name} ${mode}`
}

/**
 * Whether a key has the permission for a resource. A restricted key names what it lacks:
 * `rk_test_no-account_no-customers_...` may use neither /v1/account nor /v1/customers.
 */
export function mayUse(secretKey: string, resource: string): boolean {
  return !secretKey.startsWith('rk_') || !secretKey.split('_').includes(`no-${resource}`)
}

/**
 * The account that the header `Stripe-Account: acct_NAME` names, in the mode of the key. The
 * stand-in connects every account with every other one (https://docs.stripe.com/connect/authentication).
 */
export function connectedAccountOf(account: string, header: string | undefined): string {
  const name = /^acct_([A-Za-z0-9]+)$/.exec(header ?? '')?.[1]
  return name === undefined ? account : `${name} ${account.split(' ')[1]}`
}
