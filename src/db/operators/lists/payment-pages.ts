// Reads pages of payments of all tenants, newest first. However few payments match the filters, a page
// looks at a bounded number of them, and says how far it came.
import type { Payment } from '../../../domain/payments/payment.ts'
import type { PaymentStatus } from '../../../domain/payments/payment-status.ts'
import type { Fragment, Sql, Transaction } from '../../connection/client.ts'
import { pageOf, toSortedPage, type Page, type PageRequest } from '../../connection/pages.ts'
import { inService, together } from '../../connection/transaction.ts'
import { paymentFromRow, type PaymentRow } from '../../payments/payments.ts'
import { findCandidates, type CandidateFilters, type Candidates } from './payment-candidates.ts'

/** An absent filter matches every payment. */
export interface PaymentFilters extends CandidateFilters {
  readonly status?: PaymentStatus | undefined
  readonly currency?: string | undefined
  readonly amountMinor?: number | undefined
}

export interface SearchedPage<Item> extends Page<Item> {
  /**
   * When the page is not full because the search ended before all payments were looked at: the last
   * payment that was. It is the cursor of the next page.
   */
  readonly searchedTo: string | null
}

/**
 * The payments that one page looks at, to find those with the values. A page stays below a second even
 * where their rows lie in no order: docs/console.md has the times.
 */
export const SEARCHED_MAX = 100_000

export interface PaymentEntry {
  readonly id: string
  readonly payment: PaymentRow
}

/**
 * Reads a page of payments. Undefined when no payment of these tenants has the cursor's id, whether or
 * not it matches the filters.
 *
 * @param searchedMax how many payments are looked at.
 */
export async function readPaymentPage(
  sql: Sql,
  filters: PaymentFilters,
  request: PageRequest,
  searchedMax = SEARCHED_MAX,
): Promise<SearchedPage<Payment> | undefined> {
  const cursor = request.startingAfter ?? request.endingBefore
  const search = { ...request, limit: searchedMax - 1 }
  return await inService(sql, async (tx) => {
    const [page, isCursorKnown] = await together([
      searchPage(tx, filters, request, search),
      hasPayment(tx, filters, cursor),
    ])
    return isCursorKnown ? page : undefined
  })
}

async function searchPage(
  sql: Transaction,
  filters: PaymentFilters,
  request: PageRequest,
  search: PageRequest,
): Promise<SearchedPage<Payment>> {
  const candidates = await findCandidates(sql, filters, request)
  const rows =
    candidates === undefined
      ? await selectSearched(sql, filters, request, search)
      : await selectCandidates(sql, candidates, filters, request)
  const page = toSortedPage(rows, request, ({ payment }) => paymentFromRow(payment))
  if (page.hasMore) return { ...page, searchedTo: null }
  const searchedTo = candidates ? candidates.searchedTo : await findEnd(sql, filters, search)
  return { ...page, hasMore: searchedTo !== null, searchedTo }
}

async function selectCandidates(
  sql: Transaction,
  { payments }: Candidates,
  filters: PaymentFilters,
  request: PageRequest,
): Promise<readonly PaymentEntry[]> {
  if (payments.length === 0) return []
  const named = payments.map(({ tenantId, id }) => ({ owner: tenantId, named: id }))
  return await sql<PaymentEntry[]>`
    select entry.id, to_jsonb(entry) as payment
    from jsonb_to_recordset(${JSON.stringify(named)}::jsonb) as candidate (owner uuid, named uuid)
    join payments as entry on entry.tenant_id = owner and entry.id = named
    where true ${hasValues(sql, filters)} ${pageOf(sql, request)}
  `
}

/** Without the limit of the search, Postgres would choose its plan by how often the values occur. */
async function selectSearched(
  sql: Transaction,
  filters: PaymentFilters,
  request: PageRequest,
  search: PageRequest,
): Promise<readonly PaymentEntry[]> {
  return await sql<PaymentEntry[]>`
    with searched as (
      select tenant_id, id, status, currency, amount_minor from payments
      where true ${ofTenant(sql, filters)} ${pageOf(sql, search)}
    ),
    matching (owner, named) as (
      select tenant_id, id from searched as entry
      where true ${hasValues(sql, filters)} ${pageOf(sql, request)}
    )
    select entry.id, to_jsonb(entry) as payment
    from matching
    join payments as entry on entry.tenant_id = owner and entry.id = named
  `
}

/** The last payment of a search that looked at as many as it may. */
async function findEnd(
  sql: Transaction,
  filters: PaymentFilters,
  search: PageRequest,
): Promise<string | null> {
  if (!isByValues(filters)) return null
  const { limit, ...direction } = search
  const [last] = await sql<{ id: string }[]>`
    select id from payments
    where true ${ofTenant(sql, filters)} ${pageOf(sql, { ...direction, limit: 0 })}
    offset ${limit}
  `
  return last?.id ?? null
}

async function hasPayment(
  sql: Transaction,
  filters: PaymentFilters,
  id: string | undefined,
): Promise<boolean> {
  if (id === undefined) return true
  const { count } = await sql`
    select id from payments where id = ${id} ${ofTenant(sql, filters)}
  `
  return count > 0
}

const ofTenant = (sql: Transaction, { tenant }: PaymentFilters): Fragment =>
  tenant === undefined ? sql`` : sql`and tenant_id = ${tenant}`

const isByValues = ({ status, currency, amountMinor }: PaymentFilters): boolean =>
  status !== undefined || currency !== undefined || amountMinor !== undefined

/** Conditions on the payment in `entry`, each with its `and`. */
const hasValues = (
  sql: Transaction,
  { status, currency, amountMinor }: PaymentFilters,
): Fragment => sql`
  ${status === undefined ? sql`` : sql`and entry.status = ${status}`}
  ${currency === undefined ? sql`` : sql`and entry.currency = ${currency}`}
  ${amountMinor === undefined ? sql`` : sql`and entry.amount_minor = ${amountMinor}`}
`
