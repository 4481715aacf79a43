// Answers with one page of a list.
import type { Page } from '../../db/connection/pages.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showJson, type Answer } from './answer.ts'

/**
 * Answers with a page.
 *
 * @throws ProblemError invalid-query when there is no page because the cursor is not an entry of
 *   the list. It is the same for an unknown id and for an id of another tenant or another list.
 */
export function showPage<Item>(
  page: Page<Item> | undefined,
  present: (item: Item) => Readonly<Record<string, unknown>>,
): Answer {
  return showJson(presentPage(page, present))
}

/**
 * Returns a page as JSON, for an answer that has more than the list.
 *
 * @throws ProblemError as showPage does.
 */
export function presentPage<Item>(
  page: Page<Item> | undefined,
  present: (item: Item) => Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  if (page === undefined) {
    const detail = 'starting_after or ending_before is not the id of an entry of this list.'
    throw new ProblemError('invalid-query', { detail })
  }
  return { object: 'list', data: page.items.map(present), has_more: page.hasMore }
}
