// Searches transactions. The package's own search calls back once for each transaction, and never ends
// when one is missing, so this sends its two requests: one for the ids, one for each page. A page that
// is not complete is an error, never the end.
import { isJson } from '../../src/provider/provider-text.ts'
import type { OnRepeat } from '../../src/provider/payment-provider.ts'
import { readWithRetries } from '../../src/provider/read-with-retries.ts'
import { within, type Connection } from './connection.ts'
import { isPassing } from './errors.ts'
import type { Exchange } from './http/watched-agent.ts'
import { isTransactionId, readTransaction, type Transaction } from './transaction.ts'

/**
 * A search with as many results is not complete. Stored copies of the documents say 20,000, older ones
 * 10,000; the smallest counts.
 */
export const RESULTS_MAX = 10_000

/** The fields of a search, as the package sends them. */
export type Criteria = Readonly<Record<string, unknown>>

type Read = (read: () => Promise<unknown>) => Promise<unknown>
const once: Read = (read) => read()

export const withRetries =
  (onRepeat?: OnRepeat): Read =>
  (read) =>
    readWithRetries(read, isPassing, onRepeat)

/** The ids that match, newest first, and how many of them a page may have. */
export async function searchIds(
  connection: Connection,
  criteria: Criteria,
  read: Read = once,
  exchange: Exchange = {},
) {
  const answer = await post(connection, 'advanced_search_ids', criteria, read, exchange)
  const results: unknown = isJson(answer) ? answer['searchResults'] : undefined
  const { ids, pageSize } = isJson(results) ? results : {}
  const areIds = Array.isArray(ids) && ids.every(isTransactionId)
  if (!areIds || new Set(ids).size < ids.length || !isPageSize(pageSize)) {
    throw new Error('the answer is not the result of a search')
  }
  return { ids: ids as readonly string[], pageSize }
}

const isPageSize = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value > 0

/**
 * The transactions with these ids, newest first.
 *
 * @throws Error when one is missing, or is malformed.
 */
export async function readTransactions(
  connection: Connection,
  criteria: Criteria,
  ids: readonly string[],
  read: Read = once,
  exchange: Exchange = {},
): Promise<readonly Transaction[]> {
  const answer = await post(connection, 'advanced_search', { ...criteria, ids }, read, exchange)
  const page: unknown = isJson(answer) ? answer['creditCardTransactions'] : undefined
  const listed: unknown = isJson(page) ? (page['transaction'] ?? []) : undefined
  const transactions = [listed].flat().map(readOrThrow)
  const found = new Set(transactions.map(({ id }) => id))
  if (transactions.length !== ids.length || !ids.every((id) => found.has(id))) {
    throw new Error('a page of a search is not complete')
  }
  return transactions.toSorted((one, other) => other.createdAt.getTime() - one.createdAt.getTime())
}

/**
 * All transactions that match; undefined when they are too many to be all.
 *
 * @param exchange notes what the last request met.
 */
export async function searchAll(
  connection: Connection,
  criteria: Criteria,
  exchange: Exchange,
): Promise<readonly Transaction[] | undefined> {
  const { ids, pageSize } = await searchIds(connection, criteria, once, exchange)
  if (ids.length >= RESULTS_MAX) return undefined
  const found: Transaction[] = []
  for (const page of pagesOf(ids, pageSize)) {
    found.push(...(await readTransactions(connection, criteria, page, once, exchange)))
  }
  return found
}

export function pagesOf(ids: readonly string[], pageSize: number): readonly string[][] {
  const pages = Math.ceil(ids.length / pageSize)
  return Array.from({ length: pages }, (_, page) =>
    ids.slice(page * pageSize, (page + 1) * pageSize),
  )
}

function readOrThrow(value: unknown): Transaction {
  const transaction = readTransaction(value)
  if (transaction !== undefined) return transaction
  const id = isJson(value) && isTransactionId(value['id']) ? value['id'] : 'without an id'
  throw new Error(`the provider's record ${id} is malformed`)
}

async function post(
  connection: Connection,
  name: string,
  criteria: Criteria,
  read: Read,
  exchange: Exchange,
): Promise<unknown> {
  const { gateway } = connection
  const path = `${gateway.config.baseMerchantPath()}/transactions/${name}`
  return await read(() =>
    within(connection, exchange, () => gateway.http.post(path, { search: criteria })),
  )
}
