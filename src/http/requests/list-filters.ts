// The filters that lists have in common. What was filtered by is an id, a name or a time; all are
// checked here, so that a statement never gets what Postgres would refuse.
import { z } from 'zod'
import { parsePaymentId } from '../../domain/payments/payment.ts'
import type { Filter } from './list-query.ts'

export const paymentFilter: Filter<string> = {
  expected: 'the id of one payment',
  parse: parsePaymentId,
}

/** One of the names; `expected` says what they are. */
export function oneOfFilter<Name extends string>(
  expected: string,
  names: readonly Name[],
): Filter<Name> {
  return { expected, parse: (text) => names.find((name) => name === text) }
}

const timestamp = z.iso.datetime({ offset: true })

/** A time in the profile of ISO 8601 that RFC 3339 section 5.6 has, as all shown times are. */
export const timeFilter: Filter<string> = {
  expected: 'one RFC 3339 time of 1970 or later, such as 2026-01-31T12:00:00Z',
  parse(text) {
    if (!timestamp.safeParse(text).success) return undefined
    const time = new Date(text)
    // An offset can take a time out of the years that have four digits.
    return time.getTime() >= 0 && time.getUTCFullYear() <= 9_999 ? time.toISOString() : undefined
  },
}
