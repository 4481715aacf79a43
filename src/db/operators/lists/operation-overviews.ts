// Reads operations of all tenants for operators. These rare statements scan only operations that
// are not completed, or find a few by an index. Tenants never see their results.
import type { OperationRef } from '../../../domain/operations/operation.ts'
import type { FindingKind } from '../../../domain/operations/finding.ts'
import type { Fragment, Sql, Transaction } from '../../connection/client.ts'
import { matching, readPage, type Page, type PageRequest } from '../../connection/pages.ts'
import { objectsOf } from '../../connection/rows.ts'
import { asService, inService, together } from '../../connection/transaction.ts'
import type { OpenProposal } from '../admin-actions.ts'
import {
  findQueued,
  findSelected,
  isAmong,
  isInView,
  isProposed,
  leaseRanOut,
  type OperationNames,
  type OperationView,
} from './operation-conditions.ts'
import type { idempotencyKeys } from '../../schema/idempotency-keys.ts'

type Columns =
  | ('tenantId' | 'id' | 'key' | 'operation' | 'status' | 'recoveryPoint' | 'attempts')
  | ('leaseEpoch' | 'leaseExpiresAt' | 'inDoubt' | 'lastError' | 'unknownAt' | 'nextCheckAt')
  | ('checkedAt' | 'evidence' | 'paymentId' | 'refundId' | 'createdAt' | 'finishedAt')

/** An operation, as operators see it. */
export interface OperationOverview extends Readonly<
  Pick<typeof idempotencyKeys.$inferSelect, Columns>
> {
  readonly leaseRanOut: boolean
  /** The operation is pending, and its job is gone. */
  readonly jobless: boolean
  readonly phaseAgeMs: number | null
  /** The provider of the payment; null for a local operation. */
  readonly provider: string | null
  /** The open finding about the operation. */
  readonly finding: { readonly id: string; readonly kind: FindingKind } | null
}

/** Without what is on the coordinator of Citus, which does not join it with rows of tenants. */
type Found = Omit<OperationOverview, 'jobless' | 'finding'> & { readonly jobId: string | null }

async function toOverviews(
  sql: Sql | Transaction,
  found: readonly Found[],
): Promise<OperationOverview[]> {
  const pending = found.filter(({ status }) => status === 'pending')
  const [queued, findings] = await together([
    findQueued(
      sql,
      pending.map(({ jobId }) => jobId),
    ),
    findOpenFindings(sql, found),
  ])
  return found.map(({ jobId, ...operation }) => ({
    ...operation,
    jobless: operation.status === 'pending' && !queued.has(jobId),
    finding: findings.get(operation.id) ?? null,
  }))
}

/** The oldest open finding about each of the operations. */
async function findOpenFindings(
  sql: Sql | Transaction,
  operations: readonly Pick<OperationOverview, 'id'>[],
): Promise<Map<string, OperationOverview['finding']>> {
  if (operations.length === 0) return new Map()
  const rows = await asService(sql)<{ operation: string; id: string; kind: FindingKind }[]>`
    select distinct on (operation_id) operation_id as operation, id, kind
    from reconciliation_findings
    where status = 'open' and operation_id = any(${operations.map(({ id }) => id)}::uuid[])
    order by operation_id, opened_at
  `
  return new Map(rows.map(({ operation, ...finding }) => [operation, finding]))
}

const overviewColumns = (sql: Sql | Transaction): Fragment => sql`
  operation.tenant_id, operation.id, operation.key, operation.operation, operation.status,
  operation.recovery_point, operation.attempts, operation.lease_epoch, operation.lease_expires_at,
  ${leaseRanOut(sql)} as lease_ran_out, operation.job_id, operation.in_doubt,
  (extract(epoch from now() - operation.phase_began_at) * 1000)::float8 as phase_age_ms,
  operation.last_error, operation.unknown_at, operation.next_check_at, operation.checked_at,
  operation.evidence, operation.payment_id, operation.refund_id, operation.created_at,
  operation.finished_at, paid.provider
`

/** A local operation has no payment. `id` stays the operation's. */
const withPayment = (sql: Sql | Transaction): Fragment => sql`
  left join (select tenant_id as owner, id as payment_id, provider from payments) as paid
    on paid.owner = operation.tenant_id and paid.payment_id = operation.payment_id
`

/** What the listed operations have in common. */
export interface OperationFilter extends OperationNames {
  readonly view?: OperationView | undefined
  readonly tenant?: string | undefined
  /** For the view `proposed`. */
  readonly proposals?: readonly OpenProposal[]
}

/**
 * Lists operations, newest first: those that are not completed, and the completed ones, too, if the
 * filter has a name and no view. Undefined when none has the cursor's id.
 */
export async function listOperationOverviews(
  sql: Sql,
  { view, tenant, proposals = [], ...names }: OperationFilter,
  request: PageRequest,
): Promise<Page<OperationOverview> | undefined> {
  const entries = sql`
    from idempotency_keys as operation ${withPayment(sql)} where true
      ${matching(sql, { 'operation.tenant_id': tenant })}
  `
  const cursors = sql`
    from (
      select owned.id from tenants join idempotency_keys as owned on owned.tenant_id = tenants.id
      where true ${matching(sql, { 'tenants.id': tenant })}
    ) as operation
    where true
  `
  return await inService(sql, async (tx) => {
    const selected = await findSelected(tx, view, names)
    const isOfAnyStatus = selected.named !== undefined && view === undefined
    const filters = sql`
      ${isOfAnyStatus ? sql`` : sql`and ${isInView(sql, view, selected, proposals)}`}
      ${selected.named === undefined ? sql`` : sql`and ${isAmong(sql, selected.named)}`}
    `
    const list = { columns: overviewColumns(sql), entries, filters, cursors }
    const page = await readPage<Found>(tx, list, request)
    return page && { ...page, items: await toOverviews(tx, page.items) }
  })
}

/** Counts the unknown operations about which a proposal waits for a second operator. */
export async function countProposedOperations(
  sql: Sql | Transaction,
  proposals: readonly OpenProposal[],
): Promise<number> {
  if (proposals.length === 0) return 0
  const [row] = await asService(sql)<{ counted: number }[]>`
    select count(*)::integer as counted from idempotency_keys as operation
    where ${isProposed(sql, proposals)}
  `
  return row?.counted ?? 0
}

/**
 * Finds the operation with the id, of any tenant. Operators name no tenant, so the primary key is
 * looked up once for each tenant: there are far fewer tenants than operations.
 */
export async function findOperationOverview(
  sql: Sql | Transaction,
  id: string,
): Promise<OperationOverview | undefined> {
  const found = await asService(sql)`
    select ${overviewColumns(sql)}
    from tenants
    join idempotency_keys as operation
      on operation.tenant_id = tenants.id and operation.id = ${id}
    ${withPayment(sql)}
  `
  const [overview] = await toOverviews(sql, objectsOf<Found>(found))
  return overview
}

/** Locks an unknown operation until the transaction ends. Returns when it became unknown. */
export async function lockIfUnknown(
  tx: Transaction,
  { tenantId, id }: OperationRef,
): Promise<Date | undefined> {
  const [row] = await tx<{ unknown_at: string }[]>`
    select unknown_at from idempotency_keys
    where tenant_id = ${tenantId} and id = ${id} and status = 'unknown'
    for no key update
  `
  return row && new Date(row.unknown_at)
}
