// Conditions by which operators find operations: a view, such as what is stuck, and what they know of
// them. Operators name no tenant, so each index is read once for each tenant: there are far fewer
// tenants than operations.
import type { OperationRef } from '../../../domain/operations/operation.ts'
import type { Fragment, Sql, Transaction } from '../../connection/client.ts'
import { firstIdAt } from '../../connection/rows.ts'
import { together } from '../../connection/transaction.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../../queue/jobs.ts'
import type { OpenProposal } from '../admin-actions.ts'

/** Whether the worker that owns the operation lost its lease. */
export const leaseRanOut = (sql: Sql | Transaction): Fragment => sql`
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

/** Those of the jobs of operations that have not ended. */
export async function findQueued(
  sql: Sql | Transaction,
  jobs: readonly (string | null)[],
): Promise<ReadonlySet<string | null>> {
  if (jobs.length === 0) return new Set()
  const queued = await sql<{ id: string }[]>`
    select id from ${sql(JOB_SCHEMA)}.job
    where name = ${OPERATIONS_QUEUE} and id = any(${[...jobs]}::uuid[]) and state < 'completed'
  `
  return new Set(queued.map(({ id }) => id))
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
export type OperationView = (typeof operationViews)[number]

/** What the conditions need that other statements find. */
export interface Selected {
  /** For the view `stuck`. */
  readonly jobless: readonly string[]
  /** For the view `resolved`. */
  readonly lookedUp: readonly OperationRef[]
  /** Those that have every name. Undefined when the filter has no name. */
  readonly named: readonly OperationRef[] | undefined
}

/** Citus joins neither jobs of its coordinator nor limited parts with rows of tenants. */
export async function findSelected(
  tx: Transaction,
  view: OperationView | undefined,
  names: OperationNames,
): Promise<Selected> {
  const [jobless, lookedUp, named] = await together([
    view === 'stuck' ? findJobless(tx) : Promise.resolve([]),
    view === 'resolved' ? findLookedUp(tx) : Promise.resolve([]),
    findNamed(tx, names),
  ])
  return { jobless, lookedUp, named }
}

type Condition = (
  sql: Sql | Transaction,
  selected: Selected,
  proposals: readonly OpenProposal[],
) => Fragment

/** Spelled out for each view, so that Postgres can match a partial index. */
const conditions: Record<OperationView, Condition> = {
  unknown: (sql) => sql`operation.status = 'unknown'`,
  pending: (sql) => sql`operation.status = 'pending'`,
  processing: (sql) => sql`operation.status = 'processing'`,
  failed_retryable: (sql) => sql`operation.status = 'failed_retryable'`,
  stuck: (sql, { jobless }) => isStuck(sql, jobless),
  dead: (sql) => sql`(operation.status = 'failed_retryable'
    or (operation.status = 'unknown' and operation.next_check_at is null))`,
  proposed: (sql, _, proposals) => isProposed(sql, proposals),
  resolved: (sql, { lookedUp }) => sql`
    (operation.status <> 'unknown' and ${isAmong(sql, lookedUp)})`,
}

/** A condition on the operation in `operation`; without a view, that it is not completed. */
export function isInView(
  sql: Sql | Transaction,
  view: OperationView | undefined,
  selected: Selected,
  proposals: readonly OpenProposal[],
): Fragment {
  if (view !== undefined) return conditions[view](sql, selected, proposals)
  return sql`(operation.status in ('pending', 'processing') or operation.status = 'unknown'
    or operation.status = 'failed_retryable')`
}

/** Whether one of the proposals is about the unknown outcome of the operation. */
export function isProposed(sql: Sql | Transaction, proposals: readonly OpenProposal[]): Fragment {
  const times = Object.fromEntries(proposals.map((one) => [one.operationId, one.proposedAt]))
  return sql`
    (operation.status = 'unknown' and operation.unknown_at
      <= (${JSON.stringify(times)}::jsonb ->> operation.id::text)::timestamptz)
  `
}

/** For how long a resolved operation is in the view `resolved`, and how many lines are read. */
const RESOLVED_HOURS = 24
const LATER_LINES_MAX = 500

/** What found an unknown outcome began another lease epoch, and recorded its look-up in it. */
async function findLookedUp(tx: Transaction): Promise<OperationRef[]> {
  const later = await tx<(OperationRef & { kind: string | null })[]>`
    select tenant_id as "tenantId", operation_id as id, asked ->> 'kind' as kind from phase_runs
    where lease_epoch > 1 and id >= ${firstIdAt(Date.now() - RESOLVED_HOURS * 3_600_000)}
    order by phase_runs.id desc
    limit ${LATER_LINES_MAX}
  `
  return later.filter(({ kind }) => kind === 'look')
}

export interface ProviderObject {
  readonly providers: readonly string[]
  readonly id: string
}

export interface OperationNames {
  readonly payment?: string | undefined
  /** The client's idempotency key. */
  readonly key?: string | undefined
  /** The id of a payment, a refund or a dispute at one of the providers. */
  readonly providerObject?: ProviderObject | undefined
}

/** A condition that the operation in `operation` is one of them. */
export function isAmong(sql: Sql | Transaction, operations: readonly OperationRef[]): Fragment {
  const tenants = [...new Set(operations.map(({ tenantId }) => tenantId))]
  return sql`
    operation.tenant_id = any(${tenants}::uuid[])
    and operation.id = any(${operations.map(({ id }) => id)}::uuid[])
  `
}

async function findNamed(
  tx: Transaction,
  { payment, key, providerObject }: OperationNames,
): Promise<OperationRef[] | undefined> {
  const [first, ...others] = await together([
    ...(payment === undefined ? [] : [findRefs(tx, ofPayment(tx, payment))]),
    ...(key === undefined ? [] : [findRefs(tx, ofKey(tx, key))]),
    ...(providerObject === undefined ? [] : [findRefs(tx, onProviderObject(tx, providerObject))]),
  ])
  return first && inEach(first, others)
}

/** What of the first list is in each of the others, too. */
export function inEach<Item extends { readonly id: string }>(
  first: readonly Item[],
  others: readonly (readonly Item[])[],
): Item[] {
  const ids = others.map((items) => new Set(items.map(({ id }) => id)))
  return first.filter(({ id }) => ids.every((other) => other.has(id)))
}

async function findRefs(tx: Transaction, operations: Fragment): Promise<OperationRef[]> {
  return await tx<OperationRef[]>`
    select distinct named.tenant_id as "tenantId", named.id from (${operations}) as named
  `
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

const onProviderObject = (sql: Sql | Transaction, object: ProviderObject): Fragment => sql`
  select begun.tenant_id, begun.id
  from (${ofProviderObject(sql, object)}) as resource
  join phase_runs as run
    on run.tenant_id = resource.tenant_id and run.payment_id = resource.payment_id
  join idempotency_keys as begun
    on begun.tenant_id = run.tenant_id and begun.id = run.operation_id
    and (resource.refund_id is null or begun.refund_id = resource.refund_id)
    and (resource.dispute_id is null or begun.dispute_id = resource.dispute_id)
`

/** The payment, the refund or the dispute that is an object of the provider. Unlike operations, it is kept. */
export const ofProviderObject = (
  sql: Sql | Transaction,
  { providers, id }: ProviderObject,
): Fragment => sql`
  select payments.tenant_id, payments.id as payment_id, null::uuid as refund_id,
    null::uuid as dispute_id
  from tenants
  join payments
    on payments.tenant_id = tenants.id and payments.provider = any(${[...providers]}::text[])
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
