// Opens findings about operations whose outcome stays unknown after the last check, and closes them when
// the outcome is known.
import type { Sql } from '../db/connection/client.ts'
import { asService, inService } from '../db/connection/transaction.ts'
import type { KeyRow } from '../db/idempotency/idempotency-keys.ts'
import { openFindings, SERVICE_ACTOR } from '../db/operations/findings.ts'
import { showId } from '../domain/resource-id.ts'
import type { Engine } from '../engine/engine.ts'
import { keepsFailures, keyWindowSeconds, settleSeconds } from '../provider/capabilities.ts'
import { isGuardedByKey } from './absence.ts'
import { isAtOneOf, phasesWith, type PhaseName } from './phase-names.ts'

/** If the provider keeps no failures, the age of a call does not make it unprovable. */
const NEVER_SECONDS = 10 ** 9

/** More per second than people can look into. */
const FINDINGS_AT_ONCE = 100

/** Returns the number of findings that were opened. */
export async function reportStuck(engine: Engine): Promise<number> {
  const { store, providers, settings } = engine
  const found = await openFindingsOfStuck(store.sql, {
    lastDelaySeconds: settings.CHECK_DELAYS_SECONDS.at(-1) ?? 0,
    unprovable: phasesWith(engine, isGuardedByKey),
    limits: providers.all.map(({ name, capabilities }) => ({
      provider: name,
      settleSeconds: settleSeconds(capabilities, settings),
      keyWindowSeconds: keepsFailures(capabilities, settings)
        ? keyWindowSeconds(capabilities, settings)
        : NEVER_SECONDS,
    })),
    afterMs: settings.LEASE_MS,
  })
  await closeFindingsOfIdle(store.sql)
  return found
}

/** When an unknown outcome becomes a finding. */
interface StuckRule {
  /** The delay of the last check, after the outcome became unknown. */
  readonly lastDelaySeconds: number
  /**
   * The phases whose absence only an operator can state, once their failure is stored or their
   * provider key may be forgotten.
   */
  readonly unprovable: readonly PhaseName[]
  /** Of each provider: when the finding of such a phase opens, and how long it remembers a key. */
  readonly limits: readonly {
    readonly provider: string
    readonly settleSeconds: number
    readonly keyWindowSeconds: number
  }[]
  /** The time limit of that check. */
  readonly afterMs: number
}

type StuckRow = Pick<KeyRow, 'operation' | 'recovery_point' | 'unknown_at'> & {
  readonly tenantId: string
  readonly operationId: string
  readonly paymentId: string
  readonly refundId: string | null
  readonly provider: string
  readonly last_error: string | null
}

/**
 * Opens a finding for each unknown operation whose last check is over, even if clients or operators
 * request more checks, and sooner if no check can prove that its call did not happen, unless a person has
 * closed the finding of this unknown outcome. Returns the number of opened findings.
 */
export async function openFindingsOfStuck(
  sql: Sql,
  { lastDelaySeconds, unprovable, limits, afterMs }: StuckRule,
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
        ${limits.map((of) => of.keyWindowSeconds)}::float8[]
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
          stuck.failure_stored
          or stuck.phase_began_at < now() - stuck.key_window_seconds * interval '1 second'
        ) and ${isAtOneOf(sql, unprovable)}
        then coalesce(stuck.settle_seconds, ${lastDelaySeconds}::float8)
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
  const findings = rows.map(
    ({ provider, operation, recovery_point, unknown_at, last_error, ...subject }) => ({
      provider,
      kind: 'outcome_unknown' as const,
      objectId: showId('op', subject.operationId),
      runId: null,
      subject,
      ours: { operation, recovery_point, unknown_at, last_error },
      theirs: null,
    }),
  )
  return await openFindings(sql, findings, { reopen: 'every' })
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
