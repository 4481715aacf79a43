// Opens findings about operations whose outcome stays unknown after the last check, and closes them
// when the outcome is known.
import { showId } from '../../domain/resource-id.ts'
import type { Sql } from '../connection/client.ts'
import { openFindings, SERVICE_ACTOR, type NewFinding } from '../reconciliation/findings.ts'
import { asService, inService } from '../connection/transaction.ts'
import type { idempotencyKeys } from '../schema/idempotency-keys.ts'
import type { RowOf } from '../schema/row-of.ts'

/** A recovery point of an operation. */
export interface PhaseName {
  readonly operation: string
  readonly recoveryPoint: string
}

/** What counts for the calls of one provider. */
export interface ProviderLimits {
  readonly provider: string
  readonly settleSeconds: number
  readonly keyWindowSeconds: number
}

/**
 * Opens a finding for each unknown operation whose last check is over, even if clients or operators
 * request more checks, and sooner if no check can prove that its call did not happen, unless a person has closed the finding of this unknown outcome. Returns the
 * number of opened findings.
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
      stuck.tenant_id, stuck.id, stuck.operation, stuck.recovery_point, stuck.payment_id,
      stuck.refund_id, stuck.unknown_at, stuck.last_error, stuck.provider
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

/** More per second than people can look into. */
const FINDINGS_AT_ONCE = 100

type StuckRow = Pick<
  RowOf<typeof idempotencyKeys>,
  'tenant_id' | 'id' | 'operation' | 'recovery_point' | 'refund_id' | 'unknown_at' | 'last_error'
> & { readonly payment_id: string; readonly provider: string }

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
