// Finds operations of all tenants for operators: those of a view, such as what is stuck, and those that have
// a name. These rare statements scan only operations that are not completed, or find a few by an index. They
// name no tenant, so each index is read once for each tenant: there are far fewer tenants than operations.
import type { Fragment, Sql, Transaction } from '../../db/connection/client.ts'
import { matching, readPage, type Page, type PageRequest } from '../../db/connection/pages.ts'
import { firstIdAt, objectsOf } from '../../db/connection/rows.ts'
import { asService, inService, together } from '../../db/connection/transaction.ts'
import { findQueued } from '../../db/queue/jobs.ts'
import type { idempotencyKeys } from '../../db/schema/idempotency-keys.ts'
import type { FindingKind } from '../../domain/operations/finding.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'
import { providerNames } from '../../provider/adapters.ts'
import type { OpenProposal } from './claims.ts'

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

/**
 * A selection of operations: those of one status; `stuck`, which wait for a worker or a job that is
 * gone; `dead`, which go on only when a person or a client requests it; `proposed`, whose unknown
 * outcome a second operator must confirm; `resolved`, whose outcome was unknown until lately.
 */
export const operationViews = [
  'unknown',
  'pending',
  'processing',
  'failed_retryable',
  'stuck',
  'dead',
  'proposed',
  'resolved',
] as const
type OperationView = (typeof operationViews)[number]

export interface OperationNames {
  readonly payment?: string | undefined
  /** The client's idempotency key. */
  readonly key?: string | undefined
  /** The id of a payment, a refund or a dispute at one of the providers. */
  readonly providerId?: string | undefined
}

/** What the listed operations have in common. */
interface OperationFilter extends OperationNames {
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
  return await inService(sql, async (tx) => {
    // Citus joins neither jobs of its coordinator nor limited parts with rows of tenants.
    const [jobless, lookedUp, named] = await together([
      view === 'stuck' ? findJobless(tx) : Promise.resolve([]),
      view === 'resolved' ? findLookedUp(tx) : Promise.resolve([]),
      findNamed(tx, names),
    ])
    // Spelled out for each view, so that Postgres can match a partial index.
    const views: Record<OperationView, Fragment> = {
      unknown: tx`operation.status = 'unknown'`,
      pending: tx`operation.status = 'pending'`,
      processing: tx`operation.status = 'processing'`,
      failed_retryable: tx`operation.status = 'failed_retryable'`,
      stuck: isStuck(tx, jobless),
      dead: tx`(operation.status = 'failed_retryable'
        or (operation.status = 'unknown' and operation.next_check_at is null))`,
      proposed: isProposed(tx, proposals),
      resolved: tx`(operation.status <> 'unknown' and ${isAmong(tx, lookedUp)})`,
    }
    const isOpen = tx`(operation.status in ('pending', 'processing') or operation.status = 'unknown'
      or operation.status = 'failed_retryable')`
    const inView = view ? views[view] : named === undefined ? isOpen : tx`true`
    const list = {
      columns: overviewColumns(tx),
      entries: tx`
        from idempotency_keys as operation ${withPayment(tx)} where true
          ${matching(tx, { 'operation.tenant_id': tenant })}
      `,
      filters: tx`and ${inView} ${named ? tx`and ${isAmong(tx, named)}` : tx``}`,
      cursors: tx`
        from (
          select owned.id from tenants join idempotency_keys as owned on owned.tenant_id = tenants.id
          where true ${matching(tx, { 'tenants.id': tenant })}
        ) as operation
        where true
      `,
    }
    const page = await readPage<Found>(tx, list, request)
    return page && { ...page, items: await toOverviews(tx, page.items) }
  })
}

/** Finds the operation with the id, of any tenant. */
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

/** Counts the unknown operations about which a proposal waits for a second operator. */
export async function countProposedOperations(
  tx: Transaction,
  proposals: readonly OpenProposal[],
): Promise<number> {
  if (proposals.length === 0) return 0
  const [row] = await tx<{ counted: number }[]>`
    select count(*)::integer as counted from idempotency_keys as operation
    where ${isProposed(tx, proposals)}
  `
  return row?.counted ?? 0
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

/** Whether the worker that owns the operation lost its lease. */
const leaseRanOut = (sql: Sql | Transaction): Fragment => sql`
  (operation.status = 'processing' and operation.lease_expires_at < now())
`

/**
 * Whether the unfinished operation in `operation` waits for a worker or a job that is gone.
 *
 * @param jobless from `findJobless`.
 */
export const isStuck = (sql: Sql | Transaction, jobless: readonly string[]): Fragment => sql`
  operation.status in ('pending', 'processing') and (${leaseRanOut(sql)}
    or (operation.status = 'pending' and operation.id = any(${[...jobless]}::uuid[])))
`

/** The oldest pending operations, whose jobs are looked up. */
const PENDING_MAX = 100_000

/** The ids of the pending operations whose job is gone. */
export async function findJobless(tx: Transaction): Promise<string[]> {
  const pending = await tx<{ id: string; job_id: string | null }[]>`
    select id, job_id from idempotency_keys
    where status = 'pending'
    order by created_at
    limit ${PENDING_MAX}
  `
  const queued = await findQueued(
    tx,
    pending.map((row) => row.job_id),
  )
  return pending.flatMap(({ id, job_id: job }) => (queued.has(job) ? [] : [id]))
}

/** Whether one of the proposals is about the unknown outcome of the operation. */
function isProposed(sql: Sql | Transaction, proposals: readonly OpenProposal[]): Fragment {
  const times = Object.fromEntries(proposals.map((one) => [one.operationId, one.proposedAt]))
  return sql`
    (operation.status = 'unknown' and operation.unknown_at
      <= (${JSON.stringify(times)}::jsonb ->> operation.id::text)::timestamptz)
  `
}

/** For how long a resolved operation is in the view `resolved`, and how many lines are read. */
const RESOLVED_HOURS = 24
const LATER_LINES_MAX = 500

/** What found an unknown outcome began another lease epoch, and recorded its lookup in it. */
async function findLookedUp(tx: Transaction): Promise<OperationRef[]> {
  const later = await tx<(OperationRef & { kind: string | null })[]>`
    select tenant_id as "tenantId", operation_id as id, asked ->> 'kind' as kind from phase_runs
    where lease_epoch > 1 and id >= ${firstIdAt(Date.now() - RESOLVED_HOURS * 3_600_000)}
    order by phase_runs.id desc
    limit ${LATER_LINES_MAX}
  `
  return later.filter(({ kind }) => kind === 'look')
}

/** A condition that the operation in `operation` is one of them. */
function isAmong(sql: Sql | Transaction, operations: readonly OperationRef[]): Fragment {
  const tenants = [...new Set(operations.map(({ tenantId }) => tenantId))]
  return sql`
    operation.tenant_id = any(${tenants}::uuid[])
    and operation.id = any(${operations.map(({ id }) => id)}::uuid[])
  `
}

async function findNamed(
  tx: Transaction,
  { payment, key, providerId }: OperationNames,
): Promise<OperationRef[] | undefined> {
  const find = async (operations: Fragment) =>
    await tx<OperationRef[]>`
      select distinct named.tenant_id as "tenantId", named.id from (${operations}) as named
    `
  const found = await together([
    ...(payment === undefined ? [] : [find(ofPayment(tx, payment))]),
    ...(key === undefined ? [] : [find(ofKey(tx, key))]),
    ...(providerId === undefined ? [] : [find(onProviderObject(tx, providerId))]),
  ])
  return inEach(found)
}

/** What is in each of the lists; undefined without a list. */
export function inEach<Item extends { readonly id: string }>([
  first,
  ...others
]: readonly (readonly Item[])[]): Item[] | undefined {
  const ids = others.map((items) => new Set(items.map(({ id }) => id)))
  return first?.filter(({ id }) => ids.every((other) => other.has(id)))
}

/** The timeline has an index by payment, and names every operation of a payment. */
const ofPayment = (sql: Sql | Transaction, id: string): Fragment => sql`
  select run.tenant_id, run.operation_id as id
  from tenants
  join phase_runs as run on run.tenant_id = tenants.id and run.payment_id = ${id}
`

/** The operation with the idempotency key, of each tenant. A local operation has no payment. */
export const ofKey = (sql: Sql | Transaction, key: string): Fragment => sql`
  select keyed.tenant_id, keyed.id, keyed.payment_id
  from tenants
  join idempotency_keys as keyed on keyed.tenant_id = tenants.id and keyed.key = ${key}
`

const onProviderObject = (sql: Sql | Transaction, id: string): Fragment => sql`
  select begun.tenant_id, begun.id
  from (${ofProviderObject(sql, id)}) as resource
  join phase_runs as run
    on run.tenant_id = resource.tenant_id and run.payment_id = resource.payment_id
  join idempotency_keys as begun
    on begun.tenant_id = run.tenant_id and begun.id = run.operation_id
    and (resource.refund_id is null or begun.refund_id = resource.refund_id)
    and (resource.dispute_id is null or begun.dispute_id = resource.dispute_id)
`

/**
 * The payment, the refund or the dispute that is an object of the provider. Unlike operations, it
 * is kept.
 */
export const ofProviderObject = (sql: Sql | Transaction, id: string): Fragment => sql`
  select payments.tenant_id, payments.id as payment_id, null::uuid as refund_id,
    null::uuid as dispute_id
  from tenants
  join payments
    on payments.tenant_id = tenants.id and payments.provider = any(${[...providerNames]}::text[])
    and payments.provider_payment_id = ${id}
  union all
  select refunds.tenant_id, refunds.payment_id, refunds.id, null
  from tenants
  join refunds on refunds.tenant_id = tenants.id and refunds.provider_refund_id = ${id}
  union all
  select disputes.tenant_id, disputes.payment_id, null, disputes.id
  from tenants
  join disputes on disputes.tenant_id = tenants.id and disputes.provider_dispute_id = ${id}
`
