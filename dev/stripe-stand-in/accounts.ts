// Tells which account a secret key belongs to. Objects and idempotency keys belong to an account in
// one of its modes, not to a key (https://docs.stripe.com/keys).

/** The account of every key that names none, in test mode. */
export const DEFAULT_ACCOUNT = 'default test'

/**
 * The account and the mode of a secret key: `sk_live_acctNAME_...` is a key of the account NAME in
 * live mode. Undefined when the text is not a secret key.
 */
export function accountOf(secretKey: string): string | undefined {
  const parts = /^[sr]k_(?:(test|live)_(?:acct([A-Za-z0-9]+)_)?)?/.exec(secretKey)
  if (parts === null) return undefined
  const [, mode = 'test', name = 'default'] = parts
  return `${name} ${mode}`
}
