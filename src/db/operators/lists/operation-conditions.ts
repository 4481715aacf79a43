// Conditions by which operators find operations: a view, such as what is stuck, and what they know of
// them. Operators name no tenant, so each index is read once for each tenant: there are far fewer
// tenants than operations.
import type { Fragment, Sql, Transaction } from '../../connection/client.ts'
import { firstIdAt } from '../../connection/ids.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../../queue/queues.ts'
import type { OpenProposal } from '../admin-actions.ts'

/** Whether the worker that owns the operation lost its lease. */
export const leaseRanOut = (sql: Sql | Transaction): Fragment => sql`
  (operation.status = 'processing' and operation.lease_expires_at < now())
`

/** Whether the operation waits for a job that is gone. */
export const jobless = (sql: Sql | Transaction): Fragment => sql`
  (operation.status = 'pending' and not exists (
    select from ${sql(JOB_SCHEMA)}.job
    where job.name = ${OPERATIONS_QUEUE} and job.id = operation.job_id and job.state < 'completed'
  ))
`

/** Whether the unfinished operation in `operation` waits for a worker or a job that is gone. */
export const isStuck = (sql: Sql): Fragment => sql`
  operation.status in ('pending', 'processing') and (${leaseRanOut(sql)} or ${jobless(sql)})
`

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

/** Spelled out for each view, so that Postgres can match a partial index. */
export function isInView(
  sql: Sql,
  view: OperationView | undefined,
  proposals: readonly OpenProposal[],
): Fragment {
  switch (view) {
    case 'unknown':
      return sql`operation.status = 'unknown'`
    case 'pending':
      return sql`operation.status = 'pending'`
    case 'processing':
      return sql`operation.status = 'processing'`
    case 'failed_retryable':
      return sql`operation.status = 'failed_retryable'`
    case 'stuck':
      return isStuck(sql)
    case 'dead':
      return sql`(operation.status = 'failed_retryable'
        or (operation.status = 'unknown' and operation.next_check_at is null))`
    case 'proposed':
      return isProposed(sql, proposals)
    case 'resolved':
      return sql`(operation.status <> 'unknown'
        and (operation.tenant_id, operation.id) in (${lookedUpLately(sql)}))`
    case undefined:
      return sql`(operation.status in ('pending', 'processing') or operation.status = 'unknown'
        or operation.status = 'failed_retryable')`
  }
}

/** Whether one of the proposals is about the unknown outcome of the operation. */
export function isProposed(sql: Sql | Transaction, proposals: readonly OpenProposal[]): Fragment {
  const rows = proposals.map(({ operationId: id, proposedAt: at }) => ({ id, at }))
  return sql`
    (operation.status = 'unknown' and exists (
      select from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as proposal (
        id uuid, at timestamptz
      )
      where proposal.id = operation.id and proposal.at >= operation.unknown_at
    ))
  `
}

/** For how long a resolved operation is in the view `resolved`, and how many lines are read. */
const RESOLVED_HOURS = 24
const LATER_LINES_MAX = 500

/** What found an unknown outcome began another lease epoch, and recorded its look-up in it. */
const lookedUpLately = (sql: Sql): Fragment => sql`
  select later.tenant_id, later.operation_id from (
    select tenant_id, operation_id, asked from phase_runs
    where lease_epoch > 1 and id >= ${firstIdAt(Date.now() - RESOLVED_HOURS * 3_600_000)}
    order by id desc
    limit ${LATER_LINES_MAX}
  ) as later
  where later.asked ->> 'kind' = 'look'
`

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

/** Conditions that the operation in `operation` has every name. */
export function hasNames(sql: Sql, { payment, key, providerObject }: OperationNames): Fragment {
  const isAmong = (operations: Fragment) =>
    sql`and (operation.tenant_id, operation.id) in (${operations})`
  return sql`
    ${payment === undefined ? sql`` : isAmong(ofPayment(sql, payment))}
    ${key === undefined ? sql`` : isAmong(ofKey(sql, key))}
    ${providerObject === undefined ? sql`` : isAmong(ofProviderObject(sql, providerObject))}
  `
}

/** The timeline has an index by payment, and names every operation of a payment. */
const ofPayment = (sql: Sql, id: string): Fragment => sql`
  select run.tenant_id, run.operation_id
  from tenants
  join phase_runs as run on run.tenant_id = tenants.id and run.payment_id = ${id}
`

const ofKey = (sql: Sql, key: string): Fragment => sql`
  select keyed.tenant_id, keyed.id
  from tenants
  join idempotency_keys as keyed on keyed.tenant_id = tenants.id and keyed.key = ${key}
`

const ofProviderObject = (sql: Sql, { providers, id }: ProviderObject): Fragment => sql`
  select run.tenant_id, run.operation_id
  from tenants
  join payments
    on payments.tenant_id = tenants.id and payments.provider = any(${[...providers]}::text[])
    and payments.provider_payment_id = ${id}
  join phase_runs as run on run.tenant_id = tenants.id and run.payment_id = payments.id
  union all
  select begun.tenant_id, begun.id
  from tenants
  join refunds on refunds.tenant_id = tenants.id and refunds.provider_refund_id = ${id}
  join phase_runs as run on run.tenant_id = tenants.id and run.payment_id = refunds.payment_id
  join idempotency_keys as begun
    on begun.tenant_id = tenants.id and begun.id = run.operation_id and begun.refund_id = refunds.id
  union all
  select begun.tenant_id, begun.id
  from tenants
  join disputes on disputes.tenant_id = tenants.id and disputes.provider_dispute_id = ${id}
  join phase_runs as run on run.tenant_id = tenants.id and run.payment_id = disputes.payment_id
  join idempotency_keys as begun
    on begun.tenant_id = tenants.id and begun.id = run.operation_id
    and begun.dispute_id = disputes.id
`

/**
 * The payment that an operation with the idempotency key creates or changes, of each tenant. A local
 * operation has none.
 */
export const paymentsOfKey = (sql: Sql, key: string): Fragment => sql`
  select keyed.tenant_id, keyed.payment_id as id
  from tenants
  join idempotency_keys as keyed on keyed.tenant_id = tenants.id and keyed.key = ${key}
`

/** The payment that is, or belongs to, an object of the provider. Unlike operations, it is kept. */
export const paymentsOfProviderObject = (
  sql: Sql,
  { providers, id }: ProviderObject,
): Fragment => sql`
  select payments.tenant_id, payments.id
  from tenants
  join payments
    on payments.tenant_id = tenants.id and payments.provider = any(${[...providers]}::text[])
    and payments.provider_payment_id = ${id}
  union all
  select refunds.tenant_id, refunds.payment_id
  from tenants
  join refunds on refunds.tenant_id = tenants.id and refunds.provider_refund_id = ${id}
  union all
  select disputes.tenant_id, disputes.payment_id
  from tenants
  join disputes on disputes.tenant_id = tenants.id and disputes.provider_dispute_id = ${id}
`
