// Parses the query of a list: its page, and its filters. Every value is checked here, so that no SQL statement
// receives a value that Postgres would refuse.
import { z } from 'zod'
import { KEY_LENGTH_MAX } from '../../domain/idempotency/idempotency-key.ts'
import { isCurrency } from '../../domain/payments/currency.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'

export const matchingFilter = (pattern: RegExp, expected: string): Filter<string> => ({
  expected,
  parse: (text) => (pattern.test(text) ? text : undefined),
})

/** As it is stored: without quotes, in which it may have these characters (RFC 9651 section 3.3.3). */
export const keyFilter = matchingFilter(
  new RegExp(`^[\\x20-\\x7E]{1,${KEY_LENGTH_MAX}}$`),
  'one idempotency key',
)

export const providerIdFilter = matchingFilter(
  // `dp_`: the ids of older disputes.
  /^(pi|re|pyr|du|dp)_[A-Za-z0-9_]{1,200}$/,
  'the id of one payment intent, refund or dispute at the provider',
)

export const currencyFilter: Filter<string> = {
  expected: 'one ISO 4217 code in lower case',
  parse: (text) => (isCurrency(text) ? text : undefined),
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

const LIMIT_DEFAULT = 10
const LIMIT_MAX = 100

/**
 * A page of a list, newest first. The cursors are the parsed ids of the entries next to the page.
 */
export interface ListQuery {
  readonly limit: number
  readonly startingAfter?: string
  readonly endingBefore?: string
}

/** A parameter that restricts a list to some entries. */
export interface Filter<Value> {
  /** What the value must be, for the error. */
  readonly expected: string
  /** Returns undefined when the text is not a valid value. */
  readonly parse: (text: string) => Value | undefined
}

/** A filter, and the field that describes it in the OpenAPI documents. */
export interface DocumentedFilter<Value> extends Filter<Value> {
  readonly field: z.ZodType
}

type Filters = Readonly<Record<string, Filter<unknown>>>

/** The values of the filters that a query has. */
export type FilterValues<Known extends Filters> = {
  readonly [Name in keyof Known]?: Known[Name] extends Filter<infer Value> ? Value : never
}

/**
 * Parses `limit` (1 to 100, default 10), `starting_after` and `ending_before`, which work as in
 * Stripe's lists (https://docs.stripe.com/api/pagination), and filters; each is a parameter with its
 * name.
 *
 * @param query the query as Express parses it.
 * @param parseId converts a public id to a stored one; returns undefined when it is not an id.
 * @throws ProblemError invalid-query for a parameter that is unknown, repeated or malformed, and
 *   for both cursors together. Its detail names the accepted parameters and quotes nothing of the
 *   request.
 */
export function parseFilteredQuery<Known extends Filters>(
  query: Readonly<Record<string, unknown>>,
  parseId: (text: string) => string | undefined,
  filters: Known,
): { page: ListQuery; filters: FilterValues<Known> } {
  const { limit, starting_after, ending_before, ...rest } = query
  if (starting_after !== undefined && ending_before !== undefined) {
    refuse('starting_after and ending_before cannot be combined.')
  }
  const cursor = { expected: 'the id of one entry of this list', parse: parseId }
  return {
    filters: readFilters(rest, filters),
    page: {
      limit: limit === undefined ? LIMIT_DEFAULT : readLimit(limit),
      ...(starting_after !== undefined && {
        startingAfter: readValue('starting_after', starting_after, cursor),
      }),
      ...(ending_before !== undefined && {
        endingBefore: readValue('ending_before', ending_before, cursor),
      }),
    },
  }
}

/**
 * Refuses every parameter, for a list that is always returned whole.
 *
 * @throws ProblemError invalid-query.
 */
export function refuseQuery(query: Readonly<Record<string, unknown>>): void {
  if (Object.keys(query).length > 0) refuse('This endpoint accepts no parameters.')
}

function readFilters<Known extends Filters>(
  query: Readonly<Record<string, unknown>>,
  filters: Known,
): FilterValues<Known> {
  const values = Object.entries(query).map(([name, value]) => {
    // A name such as `constructor` must not match a member that every object inherits.
    const filter = Object.hasOwn(filters, name) ? filters[name] : undefined
    if (filter === undefined) refuseUnknown(Object.keys(filters))
    return [name, readValue(name, value, filter)]
  })
  return Object.fromEntries(values) as FilterValues<Known>
}

function readLimit(value: unknown): number {
  // A repeated parameter arrives as an array.
  const limit = typeof value === 'string' && /^[1-9]\d{0,2}$/.test(value) ? Number(value) : 0
  if (limit < 1 || limit > LIMIT_MAX) refuse(`limit must be one integer from 1 to ${LIMIT_MAX}.`)
  return limit
}

function readValue<Value>(name: string, value: unknown, { parse, expected }: Filter<Value>): Value {
  const parsed = typeof value === 'string' ? parse(value) : undefined
  return parsed ?? refuse(`${name} must be ${expected}.`)
}

function refuseUnknown(filters: readonly string[]): never {
  const accepted = [...filters, 'limit', 'starting_after']
  refuse(`This endpoint accepts only ${accepted.join(', ')} and ending_before.`)
}

function refuse(detail: string): never {
  throw new ProblemError('invalid-query', { detail })
}
