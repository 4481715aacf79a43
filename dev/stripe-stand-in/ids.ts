// Generates ids in Stripe's form: a prefix for the kind of object, then random letters.
import { randomBytes } from 'node:crypto'

/** No digits: a scanner for card numbers could report a long run of digits. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const RANDOM_LETTERS = 24

/** `newId('pi')` returns `pi_` and 24 random letters. */
export function newId(prefix: string): string {
  let id = `${prefix}_`
  for (const byte of randomBytes(RANDOM_LETTERS)) id += LETTERS[byte % LETTERS.length]
  return id
}
