// Inserts, reads and changes disputes.
import { firstStatus, type ChangedDispute } from '../../domain/payments/dispute-changes.ts'
import {
  refundRefusingStatuses,
  type Dispute,
  type DisputeStanding,
  type DisputeStatus,
} from '../../domain/payments/dispute.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { insertEventsOfTypes } from '../events/event-records.ts'
import { readPage, type Page, type PageRequest } from '../connection/pages.ts'
import { seesTenant } from '../connection/row-security.ts'

/** A row of `disputes` as `to_jsonb` renders it. */
export interface DisputeRow {
  tenant_id: string
  id: string
  payment_id: string
  provider_dispute_id: string
  amount_minor: number
  currency: string
  reason: string
  status: DisputeStatus
  evidence_due_at: string | null
  withdrawn_minor: number
  reinstated_minor: number
  fee_minor: number
  fee_currency: string | null
  opened_at: string
  created_at: string
}

export function disputeFromRow(row: DisputeRow): Dispute {
  return {
    tenantId: row.tenant_id,
    id: row.id,
    paymentId: row.payment_id,
    providerDisputeId: row.provider_dispute_id,
    amountMinor: row.amount_minor,
    currency: row.currency,
    reason: row.reason,
    status: row.status,
    evidenceDueAt: row.evidence_due_at === null ? null : new Date(row.evidence_due_at),
    withdrawnMinor: row.withdrawn_minor,
    reinstatedMinor: row.reinstated_minor,
    feeMinor: row.fee_minor,
    feeCurrency: row.fee_currency,
    openedAt: new Date(row.opened_at),
    createdAt: new Date(row.created_at),
  }
}

/** A dispute that the provider has, and we do not have yet. */
export interface NewDispute {
  readonly providerDisputeId: string
  readonly openedAt: Date
  readonly standing: DisputeStanding
}

/**
 * The part `resource` of an intent statement: inserts the dispute of the operation in `reserved`,
 * unless we have it already. Its money is posted by the operation.
 */
export function insertDispute(
  sql: Sql,
  { providerDisputeId, openedAt, standing }: NewDispute,
): Fragment {
  const { amountMinor, currency, reason, evidenceDueAt } = standing
  return sql`
    resource as (
      insert into disputes (
        tenant_id, id, payment_id, provider_dispute_id, amount_minor, currency, reason, status,
        evidence_due_at, opened_at
      )
      select
        tenant_id, dispute_id, payment_id, ${providerDisputeId}::text, ${amountMinor}::bigint,
        ${currency}::text, ${reason}::text, ${firstStatus(standing)}::text,
        ${evidenceDueAt?.toISOString() ?? null}::timestamptz, ${openedAt.toISOString()}::timestamptz
      from reserved
      on conflict (tenant_id, provider_dispute_id) do nothing
      returning *, null::text as previous_status
    )
  `
}

/**
 * The part `resource` of an intent statement: the dispute of the operation, unchanged, unless another
 * operation works on it. The provider tells of one change by several events.
 */
export function selectDispute(sql: Sql): Fragment {
  return sql`
    resource as (
      select disputes.*, disputes.status as previous_status
      from disputes
      join reserved
        on disputes.tenant_id = reserved.tenant_id and disputes.id = reserved.dispute_id
      where not exists (
        select from idempotency_keys as other
        where other.tenant_id = disputes.tenant_id and other.dispute_id = disputes.id
          and other.id <> reserved.id and other.status in ('pending', 'processing')
      )
    )
  `
}

/** A condition on `payments`: a dispute keeps the provider from refunding the payment. */
export function isDisputedCondition(sql: Sql): Fragment {
  return sql`
    exists (
      select from disputes
      where disputes.tenant_id = payments.tenant_id and disputes.payment_id = payments.id
        and disputes.status = any(${[...refundRefusingStatuses]}::text[])
    )
  `
}

/** Whether a dispute keeps the provider from refunding the payment. */
export async function isDisputed(
  sql: Sql,
  { tenantId, id }: Pick<Payment, 'tenantId' | 'id'>,
): Promise<boolean> {
  const { count } = await sql`
    select from payments
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and id = ${id}
      and ${isDisputedCondition(sql)}
  `
  return count > 0
}

/** Finds a dispute of a tenant. */
export async function findDispute(
  sql: Sql | Transaction,
  tenantId: string,
  id: string,
): Promise<Dispute | undefined> {
  const [row] = await sql<{ dispute: DisputeRow }[]>`
    select to_jsonb(disputes) as dispute from disputes
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and id = ${id}
  `
  return row && disputeFromRow(row.dispute)
}

/** Finds the dispute of a tenant that the provider knows by this id. */
export async function findDisputeOfObject(
  sql: Sql,
  tenantId: string,
  providerDisputeId: string,
): Promise<Dispute | undefined> {
  const [row] = await sql<{ dispute: DisputeRow }[]>`
    select to_jsonb(disputes) as dispute from disputes
    where ${seesTenant(sql, tenantId)}
      and tenant_id = ${tenantId} and provider_dispute_id = ${providerDisputeId}
  `
  return row && disputeFromRow(row.dispute)
}

/** An absent filter matches every dispute. */
export interface DisputeFilters {
  readonly paymentId?: string | undefined
  readonly status?: string | undefined
}

/** Lists a tenant's disputes, newest first. Undefined when none has the cursor's id. */
export async function listDisputes(
  sql: Sql,
  tenantId: string,
  { paymentId, status }: DisputeFilters,
  request: PageRequest,
): Promise<Page<Dispute> | undefined> {
  const list = {
    columns: sql`to_jsonb(disputes) as dispute`,
    entries: sql`
      from disputes
      where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId}
    `,
    filters: sql`
        ${paymentId === undefined ? sql`` : sql`and payment_id = ${paymentId}`}
        ${status === undefined ? sql`` : sql`and status = ${status}`}
    `,
    fromRow: ({ dispute }: { dispute: DisputeRow }) => disputeFromRow(dispute),
  }
  return await readPage(sql, list, request)
}

/**
 * The part `changed` of a statement, with the parts of its events: changes the dispute if the CTE
 * `fenced` is not empty and the dispute still stands as before. So of two operations that follow the
 * same change, one posts its money.
 */
export function changeDisputeIfOwner(
  sql: Sql | Transaction,
  { dispute, before, events }: ChangedDispute,
): Fragment {
  return sql`
    changed as (
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
      from fenced
      where disputes.tenant_id = ${dispute.tenantId} and disputes.id = ${dispute.id}
        and disputes.status = ${before.status}
        and disputes.amount_minor = ${before.amountMinor}
        and disputes.reason = ${before.reason}
        and disputes.evidence_due_at is not distinct from
          ${before.evidenceDueAt?.toISOString() ?? null}::timestamptz
        and disputes.withdrawn_minor = ${before.withdrawnMinor}
        and disputes.reinstated_minor = ${before.reinstatedMinor}
        and disputes.fee_minor = ${before.feeMinor}
      returning disputes.*
    ),
    ${insertEventsOfTypes(sql, { cte: 'changed', kind: 'dispute' }, events)}
  `
}
