// Finds operations and payments by what operators know of them. Operators name no tenant, so each index is read
// once for each tenant: there are far fewer tenants than operations.
import type { Fragment, Sql } from '../connection/client.ts'

export interface OperationNames {
  readonly payment?: string | undefined
  /** The client's idempotency key. */
  readonly key?: string | undefined
  /** The provider's id of a payment, a refund or a dispute, and the provider. */
  readonly providerObject?: { readonly provider: string; readonly id: string } | undefined
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

const ofProviderObject = (
  sql: Sql,
  { provider, id }: { provider: string; id: string },
): Fragment => sql`
  select run.tenant_id, run.operation_id
  from tenants
  join payments
    on payments.tenant_id = tenants.id and payments.provider = ${provider}
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

/** The payment that an operation with the idempotency key creates or changes, of each tenant. */
export const paymentsOfKey = (sql: Sql, key: string): Fragment => sql`
  select keyed.payment_id as id
  from tenants
  join idempotency_keys as keyed on keyed.tenant_id = tenants.id and keyed.key = ${key}
`

/** The payment that is, or belongs to, an object of the provider. Unlike operations, it is kept. */
export const paymentsOfProviderObject = (
  sql: Sql,
  { provider, id }: { provider: string; id: string },
): Fragment => sql`
  select payments.id
  from tenants
  join payments
    on payments.tenant_id = tenants.id and payments.provider = ${provider}
    and payments.provider_payment_id = ${id}
  union all
  select refunds.payment_id
  from tenants
  join refunds on refunds.tenant_id = tenants.id and refunds.provider_refund_id = ${id}
  union all
  select disputes.payment_id
  from tenants
  join disputes on disputes.tenant_id = tenants.id and disputes.provider_dispute_id = ${id}
`
