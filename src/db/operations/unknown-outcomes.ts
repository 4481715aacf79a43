// Resolves unknown outcomes, for the outcome resolver: claims the checks that are due, requests
// one, and resumes an operation whose outcome is known or stated. Opens findings about operations whose
// outcome stays unknown after the last check, and closes them when the outcome is known.
import type { OperationRef } from '../../domain/operations/operation.ts'
import { showId } from '../../domain/resource-id.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { asService, asTenant, inService, together } from '../connection/transaction.ts'
import { keyColumns, type KeyRow, isOwner, type Fence } from '../idempotency/idempotency-keys.ts'
import { openFindings, SERVICE_ACTOR, type NewFinding } from '../reconciliation/findings.ts'
import type { Evidence } from '../schema/idempotency-keys.ts'
import { nextCheckAt, type Claim } from './leases.ts'
import { joinResources, readOperation, type JoinedOperation } from './operation-rows.ts'
import type { PhaseName } from './sweeper.ts'

/** An operation to look up at the provider now. */
export interface DueCheck extends JoinedOperation {
  /**
   * When its provider call can have been made. It starts at the intent, because an operation that
   * failed and was reopened called under the same key before.
   */
  readonly calledFrom: Date
  readonly calledTo: Date
  /** For how long the outcome has been unknown, in seconds. */
  readonly unknownForSeconds: number
}

/**
 * Claims the checks that are due, each for one caller. The schedule advances before the lookup:
 * after a crash the next check follows, or a person takes over after the last one.
 *
 * @param delaysSeconds the schedule, in seconds since the outcome became unknown, ascending.
 */
export async function claimDueChecks(
  sql: Sql,
  delaysSeconds: readonly number[],
  limit: number,
): Promise<DueCheck[]> {
  const checks = await inService(sql, async (tx) => {
    const due = await tx<DueRow[]>`
      select
        tenant_id as "tenantId", id,
        extract(epoch from now() - unknown_at)::float8 as unknown_for_seconds
      from idempotency_keys
      where status = 'unknown' and next_check_at <= now()
      order by next_check_at
      limit ${limit}
    `
    // All processes lock in the same order, so that they do not deadlock.
    const inOrder = due.toSorted((one, other) => (one.id < other.id ? -1 : 1))
    const claimed = await together(inOrder.map((row) => claimIfDue(tx, delaysSeconds, row)))
    return await joinResources(tx, claimed.flat(), true)
  })
  return checks.map((check) => ({
    ...check,
    calledFrom: check.createdAt,
    calledTo: check.unknownAt ?? new Date(0),
    unknownForSeconds: check.unknownForSeconds ?? 0,
  }))
}

type DueRow = OperationRef & { readonly unknown_for_seconds: number }

async function claimIfDue(
  tx: Transaction,
  delaysSeconds: readonly number[],
  { tenantId, id, unknown_for_seconds: unknownFor }: DueRow,
): Promise<KeyRow[]> {
  return await tx<KeyRow[]>`
    update idempotency_keys set
      checked_at = now(),
      next_check_at = ${nextCheckAt(tx, delaysSeconds, unknownFor)}
    where tenant_id = ${tenantId} and id = ${id} and status = 'unknown' and next_check_at <= now()
    returning ${keyColumns(tx)}
  `
}

/**
 * Repeats a check soon that was claimed and not made. It does not count as made, so no finding
 * follows from it.
 */
export async function postponeCheckIfUnknown(
  sql: Sql,
  { tenantId, id, leaseEpoch }: Omit<Fence, 'recoveryPoint'>,
  delaySeconds: number,
): Promise<void> {
  await asTenant(sql, tenantId)`
    update idempotency_keys set
      checked_at = null, next_check_at = now() + ${delaySeconds} * interval '1 second'
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'unknown' and lease_epoch = ${leaseEpoch}
  `
}

/** A check may wait for a tenth of the time for which the outcome is unknown: some 80 in a day. */
const AGE_PER_CHECK = 10

/** How long a check must wait after the last one. */
export interface CheckInterval {
  readonly seconds: number
  /** The longest that the age of the unknown outcome can make it. */
  readonly mostSeconds: number
}

/**
 * Requests a check of the unknown operations of a payment and its refunds now, unless one is due
 * already or was made recently. Returns whether one was requested. The checks can get rarer the longer
 * the outcome is unknown: the provider allows 500 reads for each transaction
 * (https://docs.stripe.com/rate-limits).
 */
export async function requestCheckOfPayment(
  sql: Sql | Transaction,
  { tenantId, paymentId }: { tenantId: string; paymentId: string },
  { seconds, mostSeconds }: CheckInterval,
): Promise<boolean> {
  const { count } = await asTenant(sql, tenantId)`
    update idempotency_keys set next_check_at = now()
    where tenant_id = ${tenantId} and payment_id = ${paymentId} and status = 'unknown'
      and (next_check_at is null or next_check_at > now())
      and (
        checked_at is null or now() - checked_at > greatest(
          ${seconds} * interval '1 second',
          least((now() - unknown_at) / ${AGE_PER_CHECK}, ${mostSeconds} * interval '1 second')
        )
      )
  `
  return count > 0
}

/**
 * Requests a check of an unknown operation now, with an operator's evidence. False when the
 * operation is not unknown.
 */
export async function requestCheckIfUnknown(
  sql: Sql | Transaction,
  { tenantId, id }: OperationRef,
  evidence: Evidence | null = null,
): Promise<boolean> {
  const { count } = await asTenant(sql, tenantId)`
    update idempotency_keys set
      next_check_at = now(),
      evidence = coalesce(${evidence === null ? null : JSON.stringify(evidence)}::jsonb, evidence)
    where tenant_id = ${tenantId} and id = ${id} and status = 'unknown'
  `
  return count === 1
}

/**
 * Claims an unknown operation under a new lease epoch, with its attempts reset. Its provider call
 * stays in doubt and keeps its `unknown_at` until the outcome is recorded. Undefined when another
 * process claimed it.
 *
 * @param ref as it was looked up: it must be unchanged.
 */
export async function claimIfUnknown(
  tx: Transaction,
  ref: Fence,
  leaseMs: number,
): Promise<Claim | undefined> {
  const { count } = await tx`
    update idempotency_keys set
      status = 'processing',
      lease_epoch = lease_epoch + 1,
      lease_expires_at = now() + ${leaseMs} * interval '1 millisecond',
      attempts = 1,
      next_check_at = null,
      checked_at = null
    where tenant_id = ${ref.tenantId} and id = ${ref.id}
      and status = 'unknown' and recovery_point = ${ref.recoveryPoint}
      and lease_epoch = ${ref.leaseEpoch}
  `
  return count === 0 ? undefined : await readOperation(tx, ref)
}

/** Drops an operator's statement that was judged, unless another one has replaced it. */
export async function dropEvidenceIfSame(
  tx: Transaction,
  { tenantId, id }: OperationRef,
  evidence: Evidence,
): Promise<void> {
  await tx`
    update idempotency_keys set evidence = null
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'unknown' and evidence = ${JSON.stringify(evidence)}::jsonb
  `
}

/**
 * Gives an operation back to its client's next retry on an operator's word, while its call may have
 * been executed. It keeps the time of the call and the provider key: a retry is in doubt again, and
 * repeats the call under the same key, within the key window only.
 */
export async function giveBackInDoubtIfOwner(
  tx: Transaction,
  fence: Fence,
  { reason, retentionSeconds }: { reason: string; retentionSeconds: number },
): Promise<boolean> {
  const { count } = await tx`
    update idempotency_keys set
      status = 'failed_retryable',
      expires_at = now() + ${retentionSeconds} * interval '1 second',
      lease_expires_at = null,
      in_doubt = false,
      unknown_at = null,
      evidence = null,
      last_error = ${reason}
    where ${isOwner(tx, fence)}
  `
  return count === 1
}

/** What counts for the calls of one provider. */
export interface ProviderLimits {
  readonly provider: string
  readonly settleSeconds: number
  readonly keyWindowSeconds: number
}

/**
 * Opens a finding for each unknown operation whose last check is over, even if clients or operators
 * request more checks, and sooner if no check can prove that its call did not happen, unless a person has
 * closed the finding of this unknown outcome. Returns the number of opened findings.
 *
 * @param lastDelaySeconds the delay of the last check, after the outcome became unknown.
 * @param unprovable the phases whose absence only an operator can state, once their failure is kept
 *   or their provider key may be forgotten.
 * @param limits of each provider: the delay after which such a finding opens, and how long the
 *   provider remembers a key.
 * @param afterMs the time limit of that check.
 */
export async function openFindingsOfStuck(
  sql: Sql,
  {
    lastDelaySeconds,
    unprovable,
    limits,
    afterMs,
  }: {
    lastDelaySeconds: number
    unprovable: readonly PhaseName[]
    limits: readonly ProviderLimits[]
    afterMs: number
  },
): Promise<number> {
  const rows = await asService(sql)<StuckRow[]>`
    with stuck as (
      select operation.*, payments.provider, limits.settle_seconds, limits.key_window_seconds
      from idempotency_keys as operation
      join payments
        on payments.tenant_id = operation.tenant_id and payments.id = operation.payment_id
      left join unnest(
        ${limits.map(({ provider }) => provider)}::text[],
        ${limits.map((of) => Math.min(of.settleSeconds, lastDelaySeconds))}::float8[],
        ${limits.map(({ keyWindowSeconds }) => keyWindowSeconds)}::float8[]
      ) as limits (provider, settle_seconds, key_window_seconds)
        on limits.provider = payments.provider
      where operation.status = 'unknown'
    )
    select
      stuck.tenant_id as "tenantId", stuck.id as "operationId", stuck.payment_id as "paymentId",
      stuck.refund_id as "refundId", stuck.provider,
      stuck.operation, stuck.recovery_point, stuck.unknown_at, stuck.last_error
    from stuck
    cross join lateral (
      select stuck.unknown_at + interval '1 second' * case
        when (
          stuck.failure_kept
          or stuck.phase_began_at < now() - stuck.key_window_seconds * interval '1 second'
        ) and (stuck.operation, stuck.recovery_point) in (
          select * from unnest(
            ${unprovable.map((phase) => phase.operation)}::text[],
            ${unprovable.map((phase) => phase.recoveryPoint)}::text[]
          )
        ) then coalesce(stuck.settle_seconds, ${lastDelaySeconds}::float8)
        else ${lastDelaySeconds}::float8 end as at
    ) as last_check
    where last_check.at < now() - ${afterMs} * interval '1 millisecond'
      -- The last check was made, or never will be: the schedule had ended when the outcome became
      -- unknown again.
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
            or (finding.resolved_by <> ${SERVICE_ACTOR} and finding.resolved_at > stuck.unknown_at)
          )
      )
    limit ${FINDINGS_AT_ONCE}
  `
  return await openFindings(sql, rows.map(findingOf), { reopen: 'every' })
}

function findingOf(row: StuckRow): NewFinding {
  const { provider, operation, recovery_point, unknown_at, last_error, ...subject } = row
  return {
    kind: 'outcome_unknown',
    objectId: showId('op', subject.operationId),
    provider,
    runId: null,
    subject,
    ours: { operation, recovery_point, unknown_at, last_error },
    theirs: null,
  }
}

/** More per second than people can look into. */
const FINDINGS_AT_ONCE = 100

type StuckRow = Pick<KeyRow, 'operation' | 'recovery_point' | 'unknown_at'> & {
  readonly last_error: string | null
} & NonNullable<NewFinding['subject']> & { readonly operationId: string; readonly provider: string }

/** Closes the findings about operations whose outcome is known now. Returns their number. */
export async function closeFindingsOfIdle(sql: Sql): Promise<number> {
  return await inService(sql, async (tx) => {
    const open = await tx<{ id: string; kind: string; tenant: string; operation: string }[]>`
      select id, kind, tenant_id as tenant, operation_id as operation from reconciliation_findings
      where status = 'open' and kind in ('outcome_unknown', 'operation_abandoned')
        and operation_id is not null
    `
    if (open.length === 0) return 0
    const idle = await tx<{ id: string; status: string }[]>`
      select id, status from idempotency_keys
      where tenant_id = any(${[...new Set(open.map(({ tenant }) => tenant))]}::uuid[])
        and id = any(${open.map(({ operation }) => operation)}::uuid[])
        and status in ('completed', 'failed_retryable')
    `
    const statusOf = new Map(idle.map(({ id, status }) => [id, status]))
    const closing = open.flatMap(({ id, kind, operation }) => {
      const status = statusOf.get(operation)
      const isKnown = status === 'completed' || (status !== undefined && kind === 'outcome_unknown')
      return isKnown ? [{ id, status }] : []
    })
    if (closing.length === 0) return 0
    const { count } = await tx`
      update reconciliation_findings as finding set
        status = 'resolved', resolved_at = now(), resolved_by = ${SERVICE_ACTOR},
        note = 'the operation is ' || known.status
      from jsonb_to_recordset(${JSON.stringify(closing)}::jsonb) as known (id uuid, status text)
      where finding.id = known.id and finding.status = 'open'
    `
    return count
  })
}
