// Lists the payments, refunds and disputes of a tenant, newest first. Each list is undefined when none has the
// id of the cursor. An absent filter matches every entry.
import type { Dispute } from '../../domain/payments/dispute.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import type { Sql } from '../connection/client.ts'
import { listOf, matching, type Page, type PageRequest } from '../connection/pages.ts'
import { disputeFromRow } from './disputes.ts'
import { paymentFromRow } from './payments.ts'
import { refundFromRow } from './refunds.ts'

/** Lists a tenant's payments, or those with one reference. */
export const listPayments = (
  sql: Sql,
  tenantId: string,
  { reference }: { readonly reference?: string | undefined },
  request: PageRequest,
): Promise<Page<Payment> | undefined> => {
  const where = matching(sql, { reference })
  return listOf(sql, tenantId, { table: 'payments', where, fromRow: paymentFromRow }, request)
}

/** Lists a tenant's refunds, or those of one payment or with one reference. */
export const listRefunds = (
  sql: Sql,
  tenantId: string,
  filters: { readonly paymentId?: string; readonly reference?: string | undefined },
  request: PageRequest,
): Promise<Page<Refund> | undefined> => {
  const { paymentId: payment_id, reference } = filters
  const where = matching(sql, { payment_id, reference })
  return listOf(sql, tenantId, { table: 'refunds', where, fromRow: refundFromRow }, request)
}

interface DisputeFilters {
  readonly paymentId?: string | undefined
  readonly status?: string | undefined
}

export const listDisputes = (
  sql: Sql,
  tenantId: string,
  { paymentId: payment_id, status }: DisputeFilters,
  request: PageRequest,
): Promise<Page<Dispute> | undefined> => {
  const filters = matching(sql, { payment_id, status })
  return listOf(sql, tenantId, { table: 'disputes', filters, fromRow: disputeFromRow }, request)
}
