// Reads payments of all tenants for operators, newest first, each with the operation that works on it.
// However few payments match the filters, a page looks at a bounded number of them, and says how far it
// came. Tenants never see the results.
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Payment, PaymentStatus } from '../../domain/payments/payment.ts'
import type { Fragment, Sql, Transaction } from '../../db/connection/client.ts'
import {
  hasEntry,
  matching,
  isAscending,
  pageOf,
  toPage,
  type Page,
  type PageRequest,
} from '../../db/connection/pages.ts'
import { asService, inService, together } from '../../db/connection/transaction.ts'
import { paymentFromRow, type PaymentRow } from '../../db/payments/payments.ts'
import {
  findJobless,
  inEach,
  isStuck,
  ofKey,
  ofProviderObject,
  type OperationNames,
  type OperationOverview,
} from './operations-search.ts'

/** An absent filter matches every payment. */
export interface PaymentFilters extends Omit<OperationNames, 'payment'> {
  readonly tenant?: string | undefined
  /** Only payments with an operation that waits for a worker or a job that is gone. */
  readonly stuck?: boolean | undefined
  readonly status?: PaymentStatus | undefined
  readonly currency?: string | undefined
  readonly amountMinor?: number | undefined
}

/** An operation on a payment that is not completed. */
type OpenOperation = Pick<OperationOverview, 'id' | 'operation' | 'status' | 'recoveryPoint'>

/** A payment, as operators see it in a list. */
export interface PaymentOverview {
  readonly payment: Payment
  /** The newest operation on it that is not completed. */
  readonly operation: OpenOperation | null
}

/** Finds a payment of any tenant. */
export async function findPaymentOverview(
  sql: Sql | Transaction,
  id: string,
): Promise<PaymentOverview | undefined> {
  const rows = await asService(sql)<PaymentRow[]>`select * from payments where id = ${id}`
  const [overview] = await withOperations(sql, rows.map(paymentFromRow))
  return overview
}

interface SearchedPage<Item> extends Page<Item> {
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

/**
 * Lists the payments of all tenants. Undefined when no payment of these tenants has the cursor's id,
 * whether or not it matches the filters.
 *
 * @param searchedMax how many payments are looked at.
 */
export async function listPaymentsOfTenants(
  sql: Sql,
  filters: PaymentFilters,
  request: PageRequest,
  searchedMax = SEARCHED_MAX,
): Promise<SearchedPage<PaymentOverview> | undefined> {
  const cursor = request.startingAfter ?? request.endingBefore
  const search = { ...request, limit: searchedMax - 1 }
  const page = await inService(sql, async (tx) => {
    const [searched, isCursorKnown] = await together([
      searchPage(tx, filters, request, search),
      hasEntry(tx, tx`from payments where true ${ofTenant(tx, filters)}`, cursor),
    ])
    return isCursorKnown ? searched : undefined
  })
  return page && { ...page, items: await withOperations(sql, page.items) }
}

async function searchPage(
  tx: Transaction,
  filters: PaymentFilters,
  request: PageRequest,
  search: PageRequest,
): Promise<SearchedPage<Payment>> {
  const { status, currency, amountMinor } = filters
  const candidates = await findCandidates(tx, filters, request)
  const searched = candidates
    ? tx`
      select payments.tenant_id, payments.id, status, currency, amount_minor
      from jsonb_to_recordset(${JSON.stringify(candidates.payments)}::jsonb)
        as candidate ("tenantId" uuid, id uuid)
      join payments on payments.tenant_id = candidate."tenantId" and payments.id = candidate.id
    `
    : tx`
      select tenant_id, id, status, currency, amount_minor from payments
      where true ${ofTenant(tx, filters)} ${pageOf(tx, search)}
    `
  // Without the limit of the search, Postgres would choose its plan by how often the values occur.
  const rows = await tx<PaymentRow[]>`
    with searched as (${searched}),
    matching (owner, named) as (
      select tenant_id, id from searched
      where true ${matching(tx, { status, currency, amount_minor: amountMinor })}
        ${pageOf(tx, request)}
    )
    select payments.*
    from matching
    join payments on payments.tenant_id = owner and payments.id = named
    order by payments.id ${isAscending(request) ? tx`asc` : tx`desc`}
  `
  const page = toPage(rows.map(paymentFromRow), request)
  if (page.hasMore) return { ...page, searchedTo: null }
  const searchedTo = candidates ? candidates.searchedTo : await findEnd(tx, filters, search)
  return { ...page, hasMore: searchedTo !== null, searchedTo }
}

/** The last payment of a search by values that looked at as many as it may. */
async function findEnd(
  tx: Transaction,
  filters: PaymentFilters,
  { limit, ...direction }: PageRequest,
): Promise<string | null> {
  if ((filters.status ?? filters.currency ?? filters.amountMinor) === undefined) return null
  const [last] = await tx<{ id: string }[]>`
    select id from payments
    where true ${ofTenant(tx, filters)} ${pageOf(tx, { ...direction, limit: 0 })}
    offset ${limit}
  `
  return last?.id ?? null
}

const ofTenant = (tx: Transaction, { tenant }: PaymentFilters): Fragment =>
  matching(tx, { tenant_id: tenant })

interface Candidates {
  readonly payments: readonly OperationRef[]
  /** Where the search ended in the direction of the page; null when it found all. */
  readonly searchedTo: string | null
}

/** Of each filter. After an outage, many payments can be stuck. */
export const CANDIDATES_MAX = 1_000

/**
 * Finds the payments that match every filter by what belongs to them, next to the cursor. Undefined when
 * there is no such filter. Each filter has a statement of its own: Citus joins no jobs of its
 * coordinator with rows of tenants.
 */
async function findCandidates(
  tx: Transaction,
  { tenant, stuck, key, providerId }: PaymentFilters,
  request: PageRequest,
): Promise<Candidates | undefined> {
  const search = { ...request, limit: CANDIDATES_MAX - 1 }
  const find = async (resources: Fragment): Promise<readonly OperationRef[]> =>
    await tx<OperationRef[]>`
      select named.tenant_id as "tenantId", named.payment_id as id
      from (${resources}) as named
      where named.payment_id is not null ${matching(tx, { 'named.tenant_id': tenant })}
        ${pageOf(tx, search, tx`named.payment_id`)}
    `
  const found = await together([
    ...(stuck === true ? [findJobless(tx).then((jobless) => find(areStuck(tx, jobless)))] : []),
    ...(key === undefined ? [] : [find(ofKey(tx, key))]),
    ...(providerId === undefined ? [] : [find(ofProviderObject(tx, providerId))]),
  ])
  const candidates = inEach(found)
  if (candidates === undefined) return undefined
  const ends = found.flatMap((each) => each[CANDIDATES_MAX - 1]?.id ?? []).toSorted()
  return {
    // Several operations on a payment can be stuck.
    payments: [...new Map(candidates.map((each) => [each.id, each])).values()],
    searchedTo: (isAscending(request) ? ends.at(0) : ends.at(-1)) ?? null,
  }
}

const areStuck = (tx: Transaction, jobless: readonly string[]): Fragment => tx`
  select operation.tenant_id, operation.payment_id
  from idempotency_keys as operation
  where ${isStuck(tx, jobless)}
`

/**
 * Adds the newest operation that is not completed to each payment. The timeline has an index by payment,
 * and names every operation where it began.
 */
async function withOperations(
  sql: Sql | Transaction,
  payments: readonly Payment[],
): Promise<readonly PaymentOverview[]> {
  if (payments.length === 0) return []
  const shown = payments.map(({ tenantId, id }) => ({ owner: tenantId, shown: id }))
  const open = await asService(sql)<(OpenOperation & { paymentId: string })[]>`
    select distinct on (run.tenant_id, run.payment_id)
      run.payment_id as "paymentId", operation.id, operation.operation, operation.status,
      operation.recovery_point as "recoveryPoint"
    from jsonb_to_recordset(${JSON.stringify(shown)}::jsonb) as listed (owner uuid, shown uuid)
    join phase_runs as run
      on run.tenant_id = owner and run.payment_id = shown and run.phase is null
    join idempotency_keys as operation
      on operation.tenant_id = run.tenant_id and operation.id = run.operation_id
    where operation.status <> 'completed'
    order by run.tenant_id, run.payment_id, operation.id desc
  `
  const byPayment = new Map(open.map(({ paymentId, ...operation }) => [paymentId, operation]))
  return payments.map((payment) => ({ payment, operation: byPayment.get(payment.id) ?? null }))
}
