// Lists the payments, refunds and disputes of a tenant, newest first. Each list is undefined when none has the
// id of the cursor.
import type { Payment } from '../../domain/payments/payment.ts'
import type { Sql } from '../connection/client.ts'
import { listOf, matching, type Page, type PageRequest } from '../connection/pages.ts'
import { paymentFromRow } from './payments.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import { refundFromRow } from './refunds.ts'
import type { Dispute } from '../../domain/payments/dispute.ts'
import { disputeFromRow } from './disputes.ts'

/**
 * Lists a tenant's payments, or those with one reference, newest first.
 */
export async function listPayments(
  sql: Sql,
  tenantId: string,
  { reference }: { readonly reference?: string | undefined },
  request: PageRequest,
): Promise<Page<Payment> | undefined> {
  const list = {
    columns: sql`*`,
    entries: sql`from payments where tenant_id = ${tenantId} ${matching(sql, { reference })}`,
    fromRow: paymentFromRow,
  }
  return await listOf(sql, tenantId, list, request)
}

/**
 * Lists a tenant's refunds, or those of one payment or with one reference, newest first.
 */
export async function listRefunds(
  sql: Sql,
  tenantId: string,
  {
    paymentId,
    reference,
  }: { readonly paymentId?: string; readonly reference?: string | undefined },
  request: PageRequest,
): Promise<Page<Refund> | undefined> {
  const list = {
    columns: sql`*`,
    entries: sql`
      from refunds where tenant_id = ${tenantId} ${matching(sql, { payment_id: paymentId, reference })}
    `,
    fromRow: refundFromRow,
  }
  return await listOf(sql, tenantId, list, request)
}

/** An absent filter matches every dispute. */
interface DisputeFilters {
  readonly paymentId?: string | undefined
  readonly status?: string | undefined
}

/** Lists a tenant's disputes, newest first. */
export async function listDisputes(
  sql: Sql,
  tenantId: string,
  { paymentId, status }: DisputeFilters,
  request: PageRequest,
): Promise<Page<Dispute> | undefined> {
  const list = {
    columns: sql`*`,
    entries: sql`from disputes where tenant_id = ${tenantId}`,
    filters: matching(sql, { payment_id: paymentId, status }),
    fromRow: disputeFromRow,
  }
  return await listOf(sql, tenantId, list, request)
}
