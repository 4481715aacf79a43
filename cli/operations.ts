// Reads lists of operations and payments, page by page.
import { ApiError, unwrap } from '../client/errors.ts'
import type {
  Operation,
  OperationWithTimeline,
  OperatorClient,
  PaymentOverview,
} from './command.ts'

/** The largest page of the API. */
const PAGE = 100

/** How many entries of a page may leave the list before the next page is read. */
const STEPS_BACK = 10

interface Filter {
  readonly status?: 'unknown'
  readonly tenant?: string
}

export interface Listed {
  readonly operations: readonly Operation[]
  /** Whether there are more than the limit. */
  readonly hasMore: boolean
}

/** Lists the newest operations, the newest first. */
export async function listOperations(
  client: OperatorClient,
  filter: Filter,
  limit: number,
  signal?: AbortSignal,
): Promise<Listed> {
  const found = new Map<string, Operation>()
  let steps = 1
  for (;;) {
    const page = await readPage(client, filter, [...found.keys()].at(-steps), signal)
    // The entry of the cursor has left the list, because it is completed: the one before may be there.
    steps = page === undefined ? steps + 1 : 1
    for (const operation of page?.data ?? []) found.set(operation.id, operation)
    const isWhole = page?.has_more === false
    if (isWhole || found.size >= limit || steps > Math.min(found.size, STEPS_BACK)) {
      const operations = [...found.values()].slice(0, limit)
      return { operations, hasMore: !isWhole || found.size > limit }
    }
  }
}

/** Returns undefined when the cursor is not in the list any more. */
async function readPage(
  client: OperatorClient,
  filter: Filter,
  after?: string,
  signal?: AbortSignal,
) {
  const cursor = after === undefined ? {} : { starting_after: after }
  const query = { ...filter, ...cursor, limit: PAGE }
  try {
    return unwrap(
      await client.GET('/admin/operations', { params: { query }, signal: signal ?? null }),
    )
  } catch (error) {
    const isGone = error instanceof ApiError && error.problem === 'invalid-query'
    if (after === undefined || !isGone) throw error
    return undefined
  }
}

/** How many pages of payments are read at once. */
const PAGES = 10

/**
 * Lists the newest payments, the newest first, page by page until a page has one that is known.
 *
 * @param known without it, reads one page.
 */
export async function listPaymentsUntil(
  client: OperatorClient,
  filter: Pick<Filter, 'tenant'>,
  known: ReadonlySet<string> | undefined,
  signal: AbortSignal,
) {
  const payments: PaymentOverview[] = []
  for (let page = 0; page < PAGES; page += 1) {
    const after = payments.at(-1)?.id
    const cursor = after === undefined ? {} : { starting_after: after }
    const query = { ...filter, ...cursor, limit: PAGE }
    const read = unwrap(await client.GET('/admin/payments', { params: { query }, signal }))
    payments.push(...read.data)
    const isKnown = known === undefined || read.data.some(({ id }) => known.has(id))
    if (isKnown || !read.has_more) return { payments, hasMore: false }
  }
  return { payments, hasMore: true }
}

export async function getOperation(
  client: OperatorClient,
  id: string,
  signal?: AbortSignal,
): Promise<OperationWithTimeline> {
  return unwrap(
    await client.GET('/admin/operations/{id}', {
      params: { path: { id } },
      signal: signal ?? null,
    }),
  )
}
