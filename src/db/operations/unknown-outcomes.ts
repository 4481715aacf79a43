// The statements by which the reconciler acts on operations whose outcome is unknown: claim the checks
// that are due, ask for one, and take an operation back to work when its outcome is known.
import { showId } from '../../domain/resource-id.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { openFindings, RECONCILER, type NewFinding } from '../reconciliation/findings.ts'
import {
  nextCheckAt,
  operationFromRow,
  selectOperation,
  type Claim,
  type JoinedRow,
  type OperationRow,
} from './leases.ts'
import { seesEveryTenant, seesTenant } from '../connection/row-security.ts'

/** What an operator has said of an unknown outcome: what it has made, or that it has made nothing. */
export interface Evidence {
  readonly proved_absent?: true
  readonly provider_payment_id?: string
  readonly provider_refund_id?: string
  readonly by: string
  readonly note: string
}

/** An operation that is to be looked up at the provider now. */
export interface DueCheck extends OperationRow {
  /**
   * When its foreign call can have been made: since the intent, because what was given up and reopened
   * has called under the same key before.
   */
  readonly calledFrom: Date
  readonly calledTo: Date
  /** For how long nobody has called any more, in seconds. */
  readonly unknownForSeconds: number
  readonly evidence: Evidence | null
}

interface DueRow extends JoinedRow {
  created_at: string
  unknown_at: string
  unknown_for_seconds: number
  evidence: Evidence | null
}

/**
 * Claims checks that are due, each for one caller: the schedule moves on before anybody looks, so that
 * one who dies while looking leaves it to the next check, or, after the last one, to a person.
 *
 * @param delaysSeconds the schedule, in seconds since the outcome became unknown, ascending.
 */
export async function claimDueChecks(
  sql: Sql,
  delaysSeconds: readonly number[],
  limit: number,
): Promise<DueCheck[]> {
  const rows = await sql<DueRow[]>`
    -- Chosen once: as a subquery of the update it can be run again for every row that is due.
    with chosen as materialized (
      select tenant_id, id from idempotency_keys
      where status = 'unknown' and ${isDue(sql)}
      order by next_check_at
      limit ${limit}
    ),
    due as (
      update idempotency_keys set
        unknown_at = coalesce(unknown_at, now()), checked_at = now(),
        next_check_at = ${nextCheckAt(sql, delaysSeconds)}
      from chosen
      where idempotency_keys.tenant_id = chosen.tenant_id and idempotency_keys.id = chosen.id
        and status = 'unknown' and ${isDue(sql)}
      returning idempotency_keys.*
    )
    ${selectOperation(sql, sql`due`, dueColumns(sql))}
    where ${seesEveryTenant(sql)}
  `
  return rows.map(dueFromRow)
}

/** A worker of the version before there were checks does not say when it gave an operation up. */
const isDue = (sql: Sql) => sql`(next_check_at <= now() or unknown_at is null)`

function dueColumns(sql: Sql): Fragment {
  return sql`
    operation.tenant_id, operation.unknown_at, operation.evidence,
    operation.created_at,
    extract(epoch from now() - operation.unknown_at)::float8 as unknown_for_seconds
  `
}

function dueFromRow(row: DueRow): DueCheck {
  return {
    ...operationFromRow(row),
    calledFrom: new Date(row.created_at),
    calledTo: new Date(row.unknown_at),
    unknownForSeconds: row.unknown_for_seconds,
    evidence: row.evidence,
  }
}

/**
 * Opens a finding for each unknown operation whose last check is over, however often somebody asks for
 * more, unless a person has closed the one about this time. Returns how many were opened.
 *
 * @param lastDelaySeconds when the last check is made, after the outcome became unknown.
 * @param afterMs how long that is given to end.
 */
export async function openFindingsOfStuck(
  sql: Sql,
  { lastDelaySeconds, afterMs }: { lastDelaySeconds: number; afterMs: number },
): Promise<number> {
  const rows = await sql<StuckRow[]>`
    select
      stuck.tenant_id, stuck.id, stuck.operation, stuck.recovery_point, stuck.payment_id,
      stuck.refund_id, stuck.unknown_at, stuck.last_error, payments.provider
    from idempotency_keys as stuck
    join payments on payments.tenant_id = stuck.tenant_id and payments.id = stuck.payment_id
    cross join lateral (
      select stuck.unknown_at + ${lastDelaySeconds} * interval '1 second' as at
    ) as last_check
    where ${seesEveryTenant(sql)} and stuck.status = 'unknown'
      and last_check.at < now() - ${afterMs} * interval '1 millisecond'
      -- It was made, or will not be: the schedule was over when the outcome became unknown again.
      and (
        stuck.checked_at >= last_check.at
        or (stuck.checked_at is null and stuck.next_check_at is null)
      )
      and not exists (
        select from reconciliation_findings as finding
        where finding.tenant_id = stuck.tenant_id and finding.operation_id = stuck.id
          and finding.kind = 'outcome_unknown'
          and (
            finding.status = 'open'
            or (finding.resolved_by <> ${RECONCILER} and finding.resolved_at > stuck.unknown_at)
          )
      )
    limit ${FINDINGS_AT_ONCE}
  `
  return await openFindings(sql, rows.map(findingOf), { reopen: 'every' })
}

/** A few a second are more than people can look into. */
const FINDINGS_AT_ONCE = 100

interface StuckRow {
  tenant_id: string
  id: string
  operation: string
  recovery_point: string
  payment_id: string
  refund_id: string | null
  unknown_at: string
  last_error: string | null
  provider: string
}

function findingOf(row: StuckRow): NewFinding {
  const { tenant_id: tenantId, id, payment_id: paymentId, refund_id: refundId, provider } = row
  const { operation, recovery_point, unknown_at, last_error } = row
  return {
    kind: 'outcome_unknown',
    objectId: showId('op', id),
    provider,
    runId: null,
    subject: { tenantId, paymentId, refundId, operationId: id },
    ours: { operation, recovery_point, unknown_at, last_error },
    theirs: null,
  }
}

/** Closes the findings about operations that have been settled since. Returns how many. */
export async function closeFindingsOfIdle(sql: Sql): Promise<number> {
  const { count } = await sql`
    update reconciliation_findings as finding set
      status = 'resolved', resolved_at = now(), resolved_by = ${RECONCILER},
      note = 'the operation is ' || operation.status
    from idempotency_keys as operation
    where ${seesEveryTenant(sql)} and finding.status = 'open'
      and operation.tenant_id = finding.tenant_id and operation.id = finding.operation_id
      and case finding.kind
        when 'outcome_unknown' then operation.status in ('completed', 'failed_retryable')
        when 'operation_abandoned' then operation.status = 'completed'
        else false end
  `
  return count
}

/**
 * Has the unknown operation of a payment, or of its refunds, checked at once, unless one is due already
 * or was made a moment ago. Says whether there is such an operation.
 */
export async function requestCheckOfPayment(
  sql: Sql,
  { tenantId, paymentId }: { tenantId: string; paymentId: string },
  sinceLastSeconds: number,
): Promise<boolean> {
  const { count } = await sql`
    update idempotency_keys set next_check_at = now()
    where ${seesTenant(sql, tenantId)}
      and tenant_id = ${tenantId} and payment_id = ${paymentId} and status = 'unknown'
      and (next_check_at is null or next_check_at > now())
      and (checked_at is null or checked_at < now() - ${sinceLastSeconds} * interval '1 second')
  `
  return count > 0
}

/** Has an unknown operation checked at once, with what an operator knows of it. False: it is not unknown. */
export async function requestCheckIfUnknown(
  sql: Sql | Transaction,
  { tenantId, id }: OperationRef,
  evidence: Evidence | null = null,
): Promise<boolean> {
  const { count } = await sql`
    update idempotency_keys set
      next_check_at = now(),
      evidence = coalesce(${evidence === null ? null : JSON.stringify(evidence)}::jsonb, evidence)
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and id = ${id} and status = 'unknown'
  `
  return count === 1
}

/** An unknown operation as it was looked up: whoever acts on that must find it unchanged. */
export type UnknownRef = Pick<OperationRow, 'tenantId' | 'id' | 'recoveryPoint' | 'leaseEpoch'>

/**
 * Takes an unknown operation back to work, under a new lease epoch and with all of its tries. Its
 * foreign call stays in doubt, and unknown since when it was, until its outcome is recorded. Undefined
 * when somebody else has taken it.
 */
export async function claimIfUnknown(
  tx: Transaction,
  seen: UnknownRef,
  leaseMs: number,
): Promise<Claim | undefined> {
  const [row] = await tx<JoinedRow[]>`
    with claimed as (
      update idempotency_keys set
        status = 'processing',
        lease_epoch = lease_epoch + 1,
        lease_expires_at = now() + ${leaseMs} * interval '1 millisecond',
        attempts = 1,
        next_check_at = null,
        checked_at = null
      where tenant_id = ${seen.tenantId} and id = ${seen.id} and status = 'unknown'
        and recovery_point = ${seen.recoveryPoint} and lease_epoch = ${seen.leaseEpoch}
      returning *
    )
    ${selectOperation(tx, tx`claimed`)} where ${seesTenant(tx, seen.tenantId)}
  `
  return row && operationFromRow(row)
}
