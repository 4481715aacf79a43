// Finds this service's own secrets, and those of Stripe, in text that a client writes: such text is
// shown to people, in events and in webhooks.
import { createSecretKey, type KeyObject } from 'node:crypto'

// The public prefix of an API key (`sk_atomic_` and six characters) is no secret. `sk_` alone is not
// refused, because identifiers of people begin like that, too.
const SECRET =
  /sk_atomic_[\dA-Za-z]{16}|whsec_[\dA-Za-z+/=_-]{24}|(?<![\dA-Za-z])(?:adm_\w{24}|[sr]k_(?:live|test|demo)_[\dA-Za-z]{16})/

/** Marks and characters without width, which do not change what a person copies. */
const INVISIBLE = /[\p{M}\p{Cf}]/gu

/** 32 bytes in base64 or base64url. So are many digests, so only the service's own keys count. */
const KEY_TEXT = /[\w+/-]{43}/g
const KEY_BYTES = 32

/**
 * Whether a text contains an API key, an operator key, a webhook secret or a key of Stripe, known by
 * their form, or one of these encryption keys.
 */
export function containsSecret(text: string, encryptionKeys: readonly KeyObject[]): boolean {
  const plain = text.replace(INVISIBLE, '').normalize('NFKC')
  if (SECRET.test(plain)) return true
  return (plain.match(KEY_TEXT) ?? []).some((part) => {
    const bytes = Buffer.from(part, 'base64')
    const key = bytes.length === KEY_BYTES ? createSecretKey(bytes) : undefined
    return key !== undefined && encryptionKeys.some((own) => own.equals(key))
  })
}
