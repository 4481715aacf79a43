// Reads the Idempotency-Key header: here alone is decided which headers name the same operation.
import { type List, parseList } from 'structured-headers'
import { ProblemError } from '../problems/problem-error.ts'

export const KEY_LENGTH_MAX = 255

const PRINTABLE_ASCII = /^[\t\x20-\x7E]*$/

/**
 * The key that the values of all Idempotency-Key header lines name, as received and not joined.
 *
 * In quotes it is a string of RFC 9651 section 3.3.3, as section 2.1 of
 * draft-ietf-httpapi-idempotency-key-header-07 has it. Bare, as Stripe's SDKs send it, it is
 * visible ASCII without spaces; a quote or comma inside is part of it. Both forms mean the same
 * key. The draft defines no parameters, so those behind a string are ignored: that can make two
 * requests one operation, never one operation two.
 *
 * @throws ProblemError idempotency-key-missing, -repeated, -empty, -too-long (over 255 characters
 *   after unquoting) or -malformed. None of them repeats the value.
 */
export function parseIdempotencyKey(headerValues: readonly string[]): string {
  const [line, ...others] = headerValues
  if (line === undefined) throw new ProblemError('idempotency-key-missing')
  if (others.length > 0) throw new ProblemError('idempotency-key-repeated')
  if (!PRINTABLE_ASCII.test(line)) throw new ProblemError('idempotency-key-malformed')

  const value = line.trim()
  const key = value.startsWith('"') ? readQuotedKey(value) : readBareKey(value)
  if (key.trim() === '') throw new ProblemError('idempotency-key-empty')
  if (key.length > KEY_LENGTH_MAX) throw new ProblemError('idempotency-key-too-long')
  return key
}

function readQuotedKey(value: string): string {
  // Clients and proxies may join two header lines with a comma; read as a list, that shows.
  const [item, ...others] = readList(value)
  if (others.length > 0) throw new ProblemError('idempotency-key-repeated')
  const key = item?.[0]
  if (typeof key !== 'string') throw new ProblemError('idempotency-key-malformed')
  return key
}

function readList(value: string): List {
  try {
    return parseList(value)
  } catch {
    // Where the syntax broke is dropped: the caller is told that it did.
    throw new ProblemError('idempotency-key-malformed')
  }
}

function readBareKey(value: string): string {
  // A bare key has no spaces: a comma with one behind it is where two header lines were joined.
  if (/,\s/.test(value)) throw new ProblemError('idempotency-key-repeated')
  if (/\s/.test(value)) throw new ProblemError('idempotency-key-malformed')
  return value
}
