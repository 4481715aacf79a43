// Ids in Stripe's form: a prefix that names the kind of object, then random letters.
import { randomBytes } from 'node:crypto'

/** No digits: a long run of them could be taken for a card number by whoever scans for those. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const RANDOM_LETTERS = 24

/** A new id, as `newId('pi')` gives `pi_` and 24 random letters. */
export function newId(prefix: string): string {
  let id = `${prefix}_`
  for (const byte of randomBytes(RANDOM_LETTERS)) id += LETTERS[byte % LETTERS.length]
  return id
}
