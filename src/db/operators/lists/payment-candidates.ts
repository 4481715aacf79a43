// Finds the few payments that operators name by what belongs to them: an operation that is stuck, an
// idempotency key, an object of the provider.
import type { Fragment, Transaction } from '../../connection/client.ts'
import { isAscending, pageOf, type PageRequest } from '../../connection/pages.ts'
import { together } from '../../connection/transaction.ts'
import {
  findJobless,
  isStuck,
  paymentsOfKey,
  paymentsOfProviderObject,
  type OperationNames,
} from './operation-conditions.ts'

/** An absent filter matches every payment. */
export interface CandidateFilters extends Omit<OperationNames, 'payment'> {
  readonly tenant?: string | undefined
  /** Only payments with an operation that waits for a worker or a job that is gone. */
  readonly stuck?: boolean | undefined
}

interface Candidate {
  readonly tenantId: string
  readonly id: string
}

export interface Candidates {
  readonly payments: readonly Candidate[]
  /** Where the search ended in the direction of the page; null when it found all. */
  readonly searchedTo: string | null
}

/** Of each filter. After an outage, many payments can be stuck. */
export const CANDIDATES_MAX = 1_000

/**
 * Finds the payments that match every filter, next to the cursor. Undefined when there is no filter.
 * Each filter has a statement of its own: Citus joins no jobs of its coordinator with rows of tenants.
 */
export async function findCandidates(
  sql: Transaction,
  filters: CandidateFilters,
  request: PageRequest,
): Promise<Candidates | undefined> {
  const { stuck, key, providerObject } = filters
  const named = [
    ...(key === undefined ? [] : [paymentsOfKey(sql, key)]),
    ...(providerObject === undefined ? [] : [paymentsOfProviderObject(sql, providerObject)]),
  ]
  const search = { ...request, limit: CANDIDATES_MAX - 1 }
  const found = await together([
    ...(stuck === true ? [findStuck(sql, filters, search)] : []),
    ...named.map((payments) => findNamed(sql, payments, filters, search)),
  ])
  const [first, ...others] = found
  if (first === undefined) return undefined
  const ids = others.map((other) => new Set(other.map(({ id }) => id)))
  const ends = found.flatMap((each) => each[CANDIDATES_MAX - 1]?.id ?? []).toSorted()
  const matching = first.filter(({ id }) => ids.every((other) => other.has(id)))
  return {
    // Several operations on a payment can be stuck.
    payments: [...new Map(matching.map((candidate) => [candidate.id, candidate])).values()],
    searchedTo: (isAscending(request) ? ends.at(0) : ends.at(-1)) ?? null,
  }
}

async function findStuck(
  sql: Transaction,
  { tenant }: CandidateFilters,
  search: PageRequest,
): Promise<readonly Candidate[]> {
  const jobless = await findJobless(sql)
  return await sql<Candidate[]>`
    select operation.tenant_id as "tenantId", operation.payment_id as id
    from idempotency_keys as operation
    where ${isStuck(sql, jobless)} and operation.payment_id is not null
      ${tenant === undefined ? sql`` : sql`and operation.tenant_id = ${tenant}`}
      ${pageOf(sql, search, sql`operation.payment_id`)}
  `
}

async function findNamed(
  sql: Transaction,
  payments: Fragment,
  { tenant }: CandidateFilters,
  search: PageRequest,
): Promise<readonly Candidate[]> {
  return await sql<Candidate[]>`
    select named.tenant_id as "tenantId", named.id
    from (${payments}) as named
    where named.id is not null
      ${tenant === undefined ? sql`` : sql`and named.tenant_id = ${tenant}`}
      ${pageOf(sql, search)}
  `
}
