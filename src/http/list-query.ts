// Reads the query of a list: how many entries, and after or before which one.
import { ProblemError } from '../domain/errors.ts'

const LIMIT_DEFAULT = 10
const LIMIT_MAX = 100

/** One page of a list, newest first; the cursors are the parsed ids of entries just outside it. */
export interface ListQuery {
  readonly limit: number
  readonly startingAfter?: string
  readonly endingBefore?: string
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
  const { limit, starting_after, ending_before, ...unknown } = query
  if (Object.keys(unknown).length > 0) {
    refuse('Only limit, starting_after and ending_before are known here.')
  }
  if (starting_after !== undefined && ending_before !== undefined) {
    refuse('starting_after and ending_before exclude each other.')
  }
  return {
    limit: limit === undefined ? LIMIT_DEFAULT : readLimit(limit),
    ...(starting_after !== undefined && {
      startingAfter: readCursor('starting_after', starting_after, parseId),
    }),
    ...(ending_before !== undefined && {
      endingBefore: readCursor('ending_before', ending_before, parseId),
    }),
  }
}

function readLimit(value: unknown): number {
  // A repeated parameter arrives as an array.
  const limit = typeof value === 'string' && /^[1-9]\d{0,2}$/.test(value) ? Number(value) : 0
  if (limit < 1 || limit > LIMIT_MAX) refuse(`limit must be one integer from 1 to ${LIMIT_MAX}.`)
  return limit
}

function readCursor(
  name: string,
  value: unknown,
  parseId: (text: string) => string | undefined,
): string {
  const id = typeof value === 'string' ? parseId(value) : undefined
  return id ?? refuse(`${name} must be one id of the listed kind.`)
}

function refuse(detail: string): never {
  throw new ProblemError('invalid-query', { detail })
}
