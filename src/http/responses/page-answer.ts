// Answers a list with one page of it, for every endpoint that lists.
import type { Page } from '../../db/connection/pages.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showJson, type Answer } from './answer.ts'

/**
 * The answer that shows a page.
 *
 * @throws ProblemError invalid-query when there is none, because the cursor names no entry of the
 *   list: the same for an id that does not exist and for one of another tenant or another list.
 */
export function showPage<Item>(
  page: Page<Item> | undefined,
  present: (item: Item) => Readonly<Record<string, unknown>>,
): Answer {
  return showJson(presentPage(page, present))
}

/**
 * A page as JSON, for an answer that is more than a list.
 *
 * @throws ProblemError as showPage does.
 */
export function presentPage<Item>(
  page: Page<Item> | undefined,
  present: (item: Item) => Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  if (page === undefined) {
    const detail = 'starting_after or ending_before names no entry of this list.'
    throw new ProblemError('invalid-query', { detail })
  }
  return { object: 'list', data: page.items.map(present), has_more: page.hasMore }
}
