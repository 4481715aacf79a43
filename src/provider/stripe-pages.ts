// Walks a list of Stripe's to its end, newest first. What proves that something is not there is a list
// that was read as a whole, so that a page which is not one is an error and never the end.
import type { Connection } from './stripe-connection.ts'
import { withinTimeLimit } from './stripe-connection.ts'
import { isObjectId } from './provider-text.ts'
import { isJson, type Json } from './stripe-json.ts'

/** As many as Stripe gives at once. */
const PAGE_SIZE = 100

export interface PageParameters {
  readonly limit: number
  readonly starting_after?: string
}

/**
 * The pages of a list, each read within the time limit of a call. Their objects have an id, and may
 * otherwise be anything.
 *
 * @param list asks for one page.
 * @throws what the connection throws; CallTimeoutError; Error when an answer is no page of a list.
 * @see https://docs.stripe.com/api/pagination
 */
export async function* pagesOf(
  connection: Connection,
  list: (parameters: PageParameters) => Promise<unknown>,
): AsyncGenerator<readonly Json[]> {
  let cursor: string | undefined
  for (;;) {
    const after = cursor === undefined ? {} : { starting_after: cursor }
    const answer = await withinTimeLimit(connection, () => list({ limit: PAGE_SIZE, ...after }))
    const { objects, isLast } = readPage(answer)
    yield objects
    if (isLast) return
    const last = objects.at(-1)?.['id'] as string | undefined
    if (last === undefined || last === cursor) throw new Error('the pages of a list do not end')
    cursor = last
  }
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
