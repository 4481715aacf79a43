// Searches transactions and disputes, in two steps for transactions: the ids of all that match, newest
// first, then a page of them. Times are compared by the minute, and the end is one minute later.
import { type Dispute, showDispute } from '../disputes/dispute.ts'
import { showTransaction, type Transaction } from '../transactions/transaction.ts'
import type { Storage, ApiRequest, Endpoint } from '../storage.ts'
import { XML } from './refusals.ts'
import { renderXml, type Member } from './xml.ts'

/** As at Braintree. */
const PAGE_SIZE = 50
const MINUTE_MS = 60_000

export const searchTransactionIds: Endpoint = (request, storage) => {
  const ids = matchesOf(request, storage).map(({ id }) => id)
  const body = renderXml('searchResults', { pageSize: PAGE_SIZE, ids })
  return { status: 200, body, contentType: XML }
}

export const searchTransactions: Endpoint = (request, storage) => {
  const matches = matchesOf(request, storage)
  return collection('creditCardTransactions', 'transaction', matches.map(showTransaction), {
    currentPageNumber: 1,
    pageSize: PAGE_SIZE,
    totalItems: matches.length,
  })
}

export const searchDisputes: Endpoint = ({ body, query }, { disputes }) => {
  const page = Number(query['page'] ?? 1)
  const matches = [...disputes.values()]
    .toReversed()
    .filter(
      (dispute) =>
        isBetween(dispute, 'receivedDate', body['received_date']) &&
        isBetween(dispute, 'effectiveDate', body['effective_date']),
    )
  const shown = matches.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)
  return collection('disputes', 'dispute', shown.map(showDispute), {
    currentPageNumber: page,
    pageSize: PAGE_SIZE,
    totalItems: matches.length,
  })
}

type Shown = { readonly [name: string]: Member }

/** The package reads the attribute `collection`, in which an element may repeat. */
function collection(root: string, element: string, shown: readonly Shown[], numbers: Shown) {
  const inner = shown.map((members) => withoutProlog(renderXml(element, members))).join('')
  const [opened = '', closed = ''] = withoutProlog(renderXml(root, { ...numbers, at: '' })).split(
    /<at\s*\/>|<at><\/at>/,
  )
  const body = opened.replace('>', ' type="collection">') + inner + closed
  return { status: 200, body, contentType: XML }
}

const withoutProlog = (xml: string): string => xml.slice(xml.indexOf('\n') + 1)

function matchesOf({ body, nowMs }: ApiRequest, { transactions, settings }: Storage) {
  const shownUntilMs = nowMs - settings.search_lag_seconds * 1_000
  return [...transactions.values()]
    .filter(({ createdAt }) => createdAt.getTime() <= shownUntilMs)
    .filter((transaction) => isMatch(transaction, body))
    .toReversed()
}

function isMatch(transaction: Transaction, search: ApiRequest['body']): boolean {
  const { id, type, orderId, createdAt, history } = transaction
  const { ids, type: types, order_id: named } = search
  const timeOf = (status: string) => history.find((event) => event.status === status)?.timestamp
  return (
    (ids === undefined || (ids as string[]).includes(id)) &&
    (types === undefined || (types as string[]).includes(type)) &&
    (named === undefined || (named as { is: string }).is === orderId) &&
    isInside(createdAt, search['created_at']) &&
    isInside(timeOf('submitted_for_settlement'), search['submitted_for_settlement_at']) &&
    isInside(timeOf('settled'), search['settled_at'])
  )
}

function isInside(time: Date | undefined, range: unknown): boolean {
  if (range === undefined) return true
  if (time === undefined) return false
  const { min, max } = range as { min: string; max: string }
  const minute = (text: string) => Math.floor(Date.parse(text) / MINUTE_MS) * MINUTE_MS
  return time.getTime() >= minute(min) && time.getTime() < minute(max) + MINUTE_MS
}

function isBetween(
  dispute: Dispute,
  field: 'receivedDate' | 'effectiveDate',
  range: unknown,
): boolean {
  if (range === undefined) return true
  const { min, max } = range as { min: string; max: string }
  return dispute[field] >= min && dispute[field] <= max
}
