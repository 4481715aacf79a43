// Inserts, reads and changes disputes.
import {
  refundRefusingStatuses,
  type Dispute,
  type DisputeProviderStatus,
  firstStatus,
  type ChangedDispute,
} from '../../domain/payments/dispute.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { findIn, listOf, matching, type PageRequest } from '../connection/pages.ts'
import { objectOf, rowsOf, type RowOf } from '../connection/rows.ts'
import { inTenant } from '../connection/transaction.ts'
import type { NewEvent } from '../events/write-events.ts'
import { byIntent, unchanged, type Intent, type WriteResources } from '../idempotency/intent.ts'
import { StaleResourceError } from './payments.ts'
import type { disputes } from '../schema/payments.ts'

export type DisputeRow = RowOf<typeof disputes>

export const disputeFromRow = (row: DisputeRow): Dispute => objectOf(row)

/** A dispute that the provider has, and we do not have yet. */
export interface NewDispute {
  readonly providerDisputeId: string
  readonly openedAt: Date
  readonly providerStatus: DisputeProviderStatus
}

/** Inserts the dispute of an intent, unless we have it. Its money is posted by the operation. */
export const insertDispute =
  ({ providerDisputeId, openedAt, providerStatus }: NewDispute): WriteResources =>
  async (tx, tenantId, intents) => {
    const { amountMinor, currency, reason, evidenceDueAt } = providerStatus
    const status = firstStatus(providerStatus)
    const terms = { amountMinor, currency, reason, status, evidenceDueAt }
    const disputes = intents.map(({ disputeId: id, paymentId }) => {
      const ids = { tenantId, id, paymentId, providerDisputeId }
      return { ...ids, ...terms, openedAt }
    })
    const inserted = await tx<DisputeRow[]>`
      insert into disputes ${rowsOf(tx, disputes)}
      on conflict (tenant_id, provider_dispute_id) do nothing
      returning *
    `
    return byIntent(intents, inserted, disputeIdOf)
  }

/**
 * Finds the dispute of an intent, and leaves it as it is, unless another operation works on it. The
 * provider tells of one change by several events.
 */
export const selectDispute: WriteResources = async (tx, tenantId, intents) => {
  const found = await tx<DisputeRow[]>`
    select * from disputes
    where tenant_id = ${tenantId} and id = any(${intents.map(disputeIdOf)}::uuid[])
      and not exists (
        select from idempotency_keys as other
        where other.tenant_id = ${tenantId} and other.dispute_id = disputes.id
          and other.id <> all(${intents.map(({ id }) => id)}::uuid[])
          and other.status in ('pending', 'processing')
      )
  `
  return byIntent(intents, found.map(unchanged), disputeIdOf)
}

const disputeIdOf = ({ disputeId = null }: Intent): string | null => disputeId

/** Those of the payments that the provider does not refund, because of a dispute. */
export async function findDisputed(
  tx: Transaction,
  tenantId: string,
  paymentIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx<{ payment_id: string }[]>`
    select payment_id from disputes
    where tenant_id = ${tenantId} and payment_id = any(${[...paymentIds]}::uuid[])
      and status = any(${[...refundRefusingStatuses]}::text[])
  `
  return new Set(rows.map((row) => row.payment_id))
}

/** Whether a dispute keeps the provider from refunding the payment. */
export const isDisputed = (sql: Sql, { tenantId, id }: Pick<Payment, 'tenantId' | 'id'>) =>
  inTenant(sql, tenantId, async (tx) => (await findDisputed(tx, tenantId, [id])).has(id))

const DISPUTES = { table: 'disputes', fromRow: disputeFromRow }

export const findDispute = (sql: Sql | Transaction, tenantId: string, id: string) =>
  findIn(sql, tenantId, DISPUTES, { id })

export const findDisputeOfObject = (sql: Sql, tenantId: string, providerDisputeId: string) =>
  findIn(sql, tenantId, DISPUTES, { provider_dispute_id: providerDisputeId })

export const listDisputes = (
  sql: Sql,
  tenantId: string,
  filters: { readonly paymentId?: string | undefined; readonly status?: string | undefined },
  request: PageRequest,
) => {
  const { paymentId: payment_id, status } = filters
  // A dispute can leave its status between two pages, and is a cursor all the same.
  const list = { ...DISPUTES, filters: matching(sql, { payment_id, status }) }
  return listOf(sql, tenantId, list, request)
}

/**
 * Changes the dispute if it still stands as before. So of two operations that follow the same change, one
 * posts its money. Returns the events of the change, which the caller has to write.
 *
 * @throws StaleResourceError when it stands otherwise. The transaction has to be rolled back.
 */
export async function updateDispute(
  tx: Transaction,
  { dispute, before, events }: ChangedDispute,
): Promise<NewEvent[]> {
  const { tenantId, id } = dispute
  const [changed] = await tx<DisputeRow[]>`
    update disputes set
      amount_minor = ${dispute.amountMinor},
      currency = ${dispute.currency},
      reason = ${dispute.reason},
      status = ${dispute.status},
      evidence_due_at = ${dispute.evidenceDueAt?.toISOString() ?? null},
      withdrawn_minor = ${dispute.withdrawnMinor},
      reinstated_minor = ${dispute.reinstatedMinor},
      fee_minor = ${dispute.feeMinor},
      fee_currency = ${dispute.feeCurrency},
      updated_at = now()
    where tenant_id = ${tenantId} and id = ${id}
      and status = ${before.status}
      and amount_minor = ${before.amountMinor}
      and reason = ${before.reason}
      and evidence_due_at is not distinct from
        ${before.evidenceDueAt?.toISOString() ?? null}::timestamptz
      and withdrawn_minor = ${before.withdrawnMinor}
      and reinstated_minor = ${before.reinstatedMinor}
      and fee_minor = ${before.feeMinor}
    returning *
  `
  if (changed === undefined) throw new StaleResourceError(`dispute ${id}`, before.status)
  return events.map((type) => ({ type, kind: 'dispute', row: changed }))
}
