// Reads the query of a list: how many entries, after or before which one, and which are left out.
import { ProblemError } from '../../domain/problems/problem-error.ts'

const LIMIT_DEFAULT = 10
const LIMIT_MAX = 100

/** One page of a list, newest first; the cursors are the parsed ids of entries just outside it. */
export interface ListQuery {
  readonly limit: number
  readonly startingAfter?: string
  readonly endingBefore?: string
}

/** A parameter that leaves entries out. */
export interface Filter<Value> {
  /** What it must be, for whoever sent something else. */
  readonly expected: string
  /** The value in a text, or undefined when the text is none. */
  readonly parse: (text: string) => Value | undefined
}

type Filters = Readonly<Record<string, Filter<unknown>>>

/** The values of those filters that a query holds. */
type FilterValues<Known extends Filters> = {
  readonly [Name in keyof Known]?: Known[Name] extends Filter<infer Value> ? Value : never
}

/**
 * Reads `limit` (1 to 100, by default 10), `starting_after` and `ending_before`, as Stripe's lists
 * have them (https://docs.stripe.com/api/pagination), from a query as Express parses it.
 *
 * @param parseId turns a shown id into the stored one, or into undefined when it is none.
 * @throws ProblemError invalid-query for a parameter that is unknown, repeated or malformed, and
 *   for both cursors together. Its detail names what is known here and repeats nothing sent.
 */
export function parseListQuery(
  query: Readonly<Record<string, unknown>>,
  parseId: (text: string) => string | undefined,
): ListQuery {
  return parseFilteredQuery(query, parseId, {}).page
}

/**
 * Reads the query of a list with filters, each a parameter of its name.
 *
 * @throws ProblemError as parseListQuery does.
 */
export function parseFilteredQuery<Known extends Filters>(
  query: Readonly<Record<string, unknown>>,
  parseId: (text: string) => string | undefined,
  filters: Known,
): { page: ListQuery; filters: FilterValues<Known> } {
  const { limit, starting_after, ending_before, ...rest } = query
  if (starting_after !== undefined && ending_before !== undefined) {
    refuse('starting_after and ending_before exclude each other.')
  }
  const cursor = { expected: 'one id of the listed kind', parse: parseId }
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
 * Refuses any parameter, for a list that is always shown whole.
 *
 * @throws ProblemError invalid-query.
 */
export function refuseQuery(query: Readonly<Record<string, unknown>>): void {
  if (Object.keys(query).length > 0) refuse('No parameter is known here.')
}

function readFilters<Known extends Filters>(
  query: Readonly<Record<string, unknown>>,
  filters: Known,
): FilterValues<Known> {
  const values = Object.entries(query).map(([name, value]) => {
    // A name such as `constructor` must not find what every object has.
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
  const known = [...filters, 'limit', 'starting_after']
  refuse(`Only ${known.join(', ')} and ending_before are known here.`)
}

function refuse(detail: string): never {
  throw new ProblemError('invalid-query', { detail })
}
