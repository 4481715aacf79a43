// Reads payments of all tenants for operators, each with the operation that works on it. Tenants never
// see their results.
import type { OperationStatus } from '../../../domain/operations/operation.ts'
import type { Payment } from '../../../domain/payments/payment.ts'
import type { Sql } from '../../connection/client.ts'
import type { PageRequest } from '../../connection/pages.ts'
import { asService } from '../../connection/transaction.ts'
import { paymentFromRow } from '../../payments/payments.ts'
import {
  readPaymentPage,
  type PaymentEntry,
  type PaymentFilters,
  type SearchedPage,
} from './payment-pages.ts'

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

/** Finds a payment of any tenant. */
export async function findPaymentOverview(
  sql: Sql,
  id: string,
): Promise<PaymentOverview | undefined> {
  const [row] = await asService(sql)<PaymentEntry[]>`
    select id, to_jsonb(entry) as payment from payments as entry where id = ${id}
  `
  if (row === undefined) return undefined
  const [overview] = await withOperations(sql, [paymentFromRow(row.payment)])
  return overview
}

/**
 * Lists the payments of all tenants, newest first. Undefined when none has the cursor's id.
 *
 * @param searchedMax as in `readPaymentPage`.
 */
export async function listPaymentsOfTenants(
  sql: Sql,
  filters: PaymentFilters,
  request: PageRequest,
  searchedMax?: number,
): Promise<SearchedPage<PaymentOverview> | undefined> {
  const page = await readPaymentPage(sql, filters, request, searchedMax)
  return page && { ...page, items: await withOperations(sql, page.items) }
}

async function withOperations(
  sql: Sql,
  payments: readonly Payment[],
): Promise<readonly PaymentOverview[]> {
  const open = payments.length === 0 ? [] : await findOpenOperations(sql, payments)
  const byPayment = new Map(open.map(({ paymentId, ...operation }) => [paymentId, operation]))
  return payments.map((payment) => ({ payment, operation: byPayment.get(payment.id) ?? null }))
}

/**
 * Finds the newest operation that is not completed of each payment. The timeline has an index by
 * payment, and names every operation where it began.
 */
async function findOpenOperations(
  sql: Sql,
  payments: readonly Payment[],
): Promise<readonly (OpenOperation & { paymentId: string })[]> {
  const shown = payments.map(({ tenantId, id }) => ({ owner: tenantId, shown: id }))
  return await asService(sql)<(OpenOperation & { paymentId: string })[]>`
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
}
