// Reads payments of all tenants for operators, each with the operation that works on it. Tenants never
// see their results.
import type { OperationStatus } from '../../../domain/operations/operation.ts'
import type { Payment } from '../../../domain/payments/payment.ts'
import type { PaymentStatus } from '../../../domain/payments/payment-status.ts'
import type { Fragment, Sql } from '../../connection/client.ts'
import { readPageOfTenants, type Page, type PageRequest } from '../../connection/pages.ts'
import { seesEveryTenant, seesTenant } from '../../connection/row-security.ts'
import { paymentFromRow, type PaymentRow } from '../../payments/payments.ts'
import {
  paymentsOfKey,
  paymentsOfProviderObject,
  type OperationNames,
  isStuck,
} from './operation-conditions.ts'

/** An operation on a payment that is not completed. */
interface OpenOperation {
  readonly id: string
  readonly operation: string
  readonly status: OperationStatus
  readonly recoveryPoint: string
}

/** A payment, as operators see it in a list. */
export interface PaymentOverview {
  readonly payment: Payment
  /** The newest operation on it that is not completed. */
  readonly operation: OpenOperation | null
}

/** An absent filter matches every payment. */
export interface PaymentFilters extends Omit<OperationNames, 'payment'> {
  readonly tenant?: string | undefined
  readonly status?: PaymentStatus | undefined
  readonly currency?: string | undefined
  readonly amountMinor?: number | undefined
  /** Only payments with an operation that waits for a worker or a job that is gone. */
  readonly stuck?: boolean | undefined
}

/** Finds a payment of any tenant, by the primary key of each tenant. */
export async function findPaymentOverview(
  sql: Sql,
  id: string,
): Promise<PaymentOverview | undefined> {
  const [row] = await sql<EntryRow[]>`
    with tenant (owner) as (select id from tenants)
    select entry.id, to_jsonb(entry) as payment
    from tenant
    join payments as entry on entry.tenant_id = owner and entry.id = ${id}
    where ${seesEveryTenant(sql)}
  `
  if (row === undefined) return undefined
  const payment = paymentFromRow(row.payment)
  const [open] = await findOpenOperations(sql, payment.tenantId, [id])
  return { payment, operation: open?.[1] ?? null }
}

interface EntryRow {
  id: string
  payment: PaymentRow
}

/** Lists the payments of all tenants, newest first. Undefined when none has the cursor's id. */
export async function listPaymentsOfTenants(
  sql: Sql,
  filters: PaymentFilters,
  request: PageRequest,
): Promise<Page<PaymentOverview> | undefined> {
  const page = await readPayments(sql, filters, request)
  if (page === undefined) return undefined
  const ofTenants = Map.groupBy(page.items, ({ tenantId }) => tenantId)
  const found = await Promise.all(
    [...ofTenants].map(([tenantId, payments]) =>
      findOpenOperations(
        sql,
        tenantId,
        payments.map(({ id }) => id),
      ),
    ),
  )
  const byPayment = new Map(found.flat())
  const items = page.items.map((payment) => ({
    payment,
    operation: byPayment.get(payment.id) ?? null,
  }))
  return { ...page, items }
}

/**
 * Reads a page of the payments. Those that operations or names lead to are few: these are found first,
 * by statements of their own, because Citus joins no jobs of its coordinator with rows of tenants.
 */
async function readPayments(
  sql: Sql,
  { tenant, ...filters }: PaymentFilters,
  request: PageRequest,
): Promise<Page<Payment> | undefined> {
  const found = await Promise.all(findNamed(sql, filters))
  const [named, ...others] = found
  const ids = named?.filter((id) => others.every((other) => other.includes(id)))
  const list = {
    table: 'payments',
    columns: sql`entry.id, to_jsonb(entry) as payment`,
    conditions: sql`
      ${ids === undefined ? sql`` : sql`and entry.id = any(${ids}::uuid[])`}
      ${hasValues(sql, filters)}
    `,
    fromRow: ({ payment }: EntryRow) => paymentFromRow(payment),
  }
  return await readPageOfTenants<EntryRow, Payment>(sql, list, tenant, request)
}

/** The ids of the payments of each filter that leads to few. A local operation has none. */
function findNamed(sql: Sql, { stuck, key, providerObject }: PaymentFilters): Promise<string[]>[] {
  return [
    ...(stuck === true ? [findStuckPayments(sql)] : []),
    ...(key === undefined ? [] : [findOf(sql, paymentsOfKey(sql, key))]),
    ...(providerObject === undefined
      ? []
      : [findOf(sql, paymentsOfProviderObject(sql, providerObject))]),
  ]
}

async function findStuckPayments(sql: Sql): Promise<string[]> {
  const rows = await sql<{ id: string | null }[]>`
    select operation.payment_id as id
    from idempotency_keys as operation
    where ${seesEveryTenant(sql)} and ${isStuck(sql)}
  `
  return rows.flatMap(({ id }) => id ?? [])
}

async function findOf(sql: Sql, payments: Fragment): Promise<string[]> {
  const rows = await sql<{ id: string | null }[]>`
    select named.id from (${payments}) as named where ${seesEveryTenant(sql)}
  `
  return rows.flatMap(({ id }) => id ?? [])
}

/**
 * Conditions on the payment in `entry`, each with its `and`. The coalesce hides how few payments match:
 * otherwise Postgres would read the whole table for each tenant instead of its newest rows.
 */
const hasValues = (sql: Sql, { status, currency, amountMinor }: PaymentFilters): Fragment => sql`
  ${status === undefined ? sql`` : sql`and coalesce(entry.status = ${status}, false)`}
  ${currency === undefined ? sql`` : sql`and coalesce(entry.currency = ${currency}, false)`}
  ${amountMinor === undefined ? sql`` : sql`and coalesce(entry.amount_minor = ${amountMinor}, false)`}
`

/**
 * Finds the newest operation that is not completed of each payment, by the payment's id. The timeline
 * has an index by payment, and names every operation where it began.
 */
async function findOpenOperations(
  sql: Sql,
  tenantId: string,
  payments: readonly string[],
): Promise<[string, OpenOperation][]> {
  const rows = await sql<(OpenOperation & { paymentId: string })[]>`
    select distinct on (run.payment_id)
      run.payment_id as "paymentId", operation.id, operation.operation, operation.status,
      operation.recovery_point as "recoveryPoint"
    from phase_runs as run
    join idempotency_keys as operation
      on operation.tenant_id = run.tenant_id and operation.id = run.operation_id
    where ${seesTenant(sql, tenantId)} and run.tenant_id = ${tenantId}
      and run.payment_id = any(${[...payments]}::uuid[]) and run.phase is null
      and operation.status <> 'completed'
    order by run.payment_id, operation.id desc
  `
  return rows.map(({ paymentId, ...operation }) => [paymentId, operation])
}
