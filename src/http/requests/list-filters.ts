// Parses the filters that several lists have: ids, names and times. Every value is checked here, so
// that no SQL statement receives a value that Postgres would refuse.
import { z } from 'zod'
import { KEY_LENGTH_MAX } from '../../domain/idempotency/idempotency-key.ts'
import { isCurrency } from '../../domain/payments/currency.ts'
import { REFERENCE, REFERENCE_LENGTH_MAX } from '../../domain/payments/reference.ts'
import { parsePaymentId } from '../../domain/payments/payment.ts'
import { parseTenantId } from '../../domain/tenants/tenant.ts'
import type { Filter } from './list-query.ts'

export const paymentFilter: Filter<string> = {
  expected: 'the id of one payment',
  parse: parsePaymentId,
}

export const tenantFilter: Filter<string> = {
  expected: 'the id of one tenant',
  parse: parseTenantId,
}

const matching = (pattern: RegExp, expected: string): Filter<string> => ({
  expected,
  parse: (text) => (pattern.test(text) ? text : undefined),
})

/** As it is stored: without quotes. */
export const keyFilter = matching(
  new RegExp(`^[\\x20-\\x7E]{1,${KEY_LENGTH_MAX}}$`),
  'one idempotency key',
)

export const referenceFilter: Filter<string> = {
  expected: `one reference: 1 to ${REFERENCE_LENGTH_MAX} visible ASCII characters`,
  parse: (text) => (REFERENCE.test(text) && text.length <= REFERENCE_LENGTH_MAX ? text : undefined),
}

export const providerIdFilter = matching(
  // `dp_`: the ids of older disputes.
  /^(pi|re|pyr|du|dp)_[A-Za-z0-9_]{1,200}$/,
  'the id of one payment intent, refund or dispute at the provider',
)

export const currencyFilter: Filter<string> = {
  expected: 'one ISO 4217 code in lower case',
  parse: (text) => (isCurrency(text) ? text : undefined),
}

/** A filter by one of the names; `expected` describes them in the error. */
export function oneOfFilter<Name extends string>(
  expected: string,
  names: readonly Name[],
): Filter<Name> {
  return { expected, parse: (text) => names.find((name) => name === text) }
}

const timestamp = z.iso.datetime({ offset: true })

/** A filter by a time in the format of RFC 3339, section 5.6, which all times of the API have. */
export const timeFilter: Filter<string> = {
  expected: 'one RFC 3339 time of 1970 or later, such as 2026-01-31T12:00:00Z',
  parse(text) {
    if (!timestamp.safeParse(text).success) return undefined
    const time = new Date(text)
    // An offset can move a time out of the years with four digits.
    return time.getTime() >= 0 && time.getUTCFullYear() <= 9_999 ? time.toISOString() : undefined
  },
}
