// Reads a list of Stripe to its end, newest first. Only a complete list proves that an object does
// not exist, so an answer that is not a page of a list is an error, never the end.
import Stripe from 'stripe'
import type { OnRepeat } from '../../payment-provider.ts'
import { readWithRetries } from '../../read-with-retries.ts'
import { isObjectId, isJson, type Json } from '../../provider-text.ts'
import { CallTimeoutError, withinTimeLimit, type TimeLimits } from '../../deadline.ts'

/** The largest page that Stripe returns. */
const PAGE_SIZE = 100

export interface PageParameters {
  readonly limit: number
  readonly starting_after?: string
}

/**
 * The pages of a list, each read within the time limit of a call. Only the id of each object is
 * checked.
 *
 * @param list requests one page.
 * @param read reads a page, with one or several tries.
 * @throws what the connection throws; CallTimeoutError; Error when an answer is no page of a list.
 * @see https://docs.stripe.com/api/pagination
 */
export async function* pagesOf(
  limits: TimeLimits,
  list: (parameters: PageParameters) => Promise<unknown>,
  read: (page: () => Promise<unknown>) => Promise<unknown> = (page) => page(),
): AsyncGenerator<readonly Json[]> {
  let cursor: string | undefined
  for (;;) {
    const after = cursor === undefined ? {} : { starting_after: cursor }
    const page = () => withinTimeLimit(limits, () => list({ limit: PAGE_SIZE, ...after }))
    const answer = await read(page)
    const { objects, isLast } = readPage(answer)
    yield objects
    if (isLast) return
    const last = objects.at(-1)?.['id'] as string | undefined
    if (last === undefined || last === cursor) throw new Error('the pages of a list do not end')
    cursor = last
  }
}

/**
 * The same for a list that is not urgent: a page with a temporary failure is requested again, a few
 * times, with growing delays.
 */
export function pagesWithRetries(
  limits: TimeLimits,
  list: (parameters: PageParameters) => Promise<unknown>,
  onRepeat?: OnRepeat,
): AsyncGenerator<readonly Json[]> {
  return pagesOf(limits, list, (page) => readWithRetries(page, isPassing, onRepeat))
}

/** Whether an object of a list is one that is looked for. */
export type IsMatch = (object: Json) => boolean

/**
 * The matching objects among the `listed` ones. Without `failure` the list was read to its end, and
 * so shows that there are no others.
 */
export interface ListReading {
  readonly found: readonly Json[]
  readonly listed: number
  readonly failure?: unknown
}

/** Reads a list once, for several that look for objects in it. Never throws. */
export async function readMatches<const Matchers extends readonly IsMatch[]>(
  pages: AsyncIterable<readonly Json[]>,
  matchers: Matchers,
): Promise<{ readonly [Index in keyof Matchers]: ListReading }> {
  const found: Json[][] = matchers.map(() => [])
  let listed = 0
  let failed: Pick<ListReading, 'failure'> = {}
  try {
    for await (const page of pages) {
      listed += page.length
      matchers.forEach((isMatch, index) => found[index]?.push(...page.filter(isMatch)))
    }
  } catch (failure) {
    failed = { failure }
  }
  const readings = found.map((objects) => ({ found: objects, listed, ...failed }))
  return readings as { [Index in keyof Matchers]: ListReading }
}

/** Whether the same call may succeed a moment later. */
function isPassing(error: unknown): boolean {
  const { StripeConnectionError, StripeError, StripeRateLimitError } = Stripe.errors
  if (error instanceof CallTimeoutError || error instanceof StripeConnectionError) return true
  if (error instanceof StripeRateLimitError) return true
  return error instanceof StripeError && (error.statusCode ?? 0) >= 500
}

function readPage(answer: unknown): { objects: readonly Json[]; isLast: boolean } {
  const page = isJson(answer) && answer['object'] === 'list' ? answer : {}
  const { data: objects, has_more: hasMore } = page
  if (!Array.isArray(objects) || typeof hasMore !== 'boolean' || !objects.every(isObject)) {
    throw new Error('the answer is not a page of a list')
  }
  return { objects, isLast: !hasMore }
}

function isObject(value: unknown): value is Json {
  return isJson(value) && isObjectId(value['id'])
}
