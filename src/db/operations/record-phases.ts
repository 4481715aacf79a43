// Records phases: one statement writes the outcomes of their provider calls and advances the recovery
// points, in one transaction and one round trip. Its parts join the CTE `fenced`, so that a worker
// that lost its lease writes nothing.
import type { StoredResponse } from '../../domain/operations/operation.ts'
import { RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { expectOne } from '../connection/expected-rows.ts'
import { seesTenants } from '../connection/row-security.ts'
import { isRaised, STALE_RESOURCE } from '../connection/store-errors.ts'
import { responseBody } from '../encryption/encrypted-values.ts'
import { announceIfOwner, shownKey, type ResourceKind } from '../events/event-records.ts'
import { storeProviderEventsIfOwner } from '../events/provider-events.ts'
import { insertPostingsIfOwner } from '../ledger/ledger.ts'
import { changeDisputeIfOwner } from '../payments/disputes.ts'
import { changePaymentsIfOwner, StaleResourceError } from '../payments/payment-changes.ts'
import { changeRefundsIfOwner } from '../payments/refund-changes.ts'
import { REMINDERS_QUEUE } from '../queue/queues.ts'
import { isOwner } from './fence.ts'
import type { Claim } from './leases.ts'
import type { PhaseRecord, Writes } from './phase-records.ts'
import { insertPhaseRunsIfOwner } from './phase-runs.ts'

/**
 * How the operation goes on: it advances to the next recovery point and renews its lease, or it
 * stores the response and is completed, and the retention of its key starts again.
 */
export type RecordedMove =
  | { readonly kind: 'advance'; readonly to: string; readonly leaseMs: number }
  | {
      readonly kind: 'finish'
      readonly response: StoredResponse
      readonly retentionSeconds: number
    }

/** A phase to record, for the owner of the lease. */
export interface PhaseToRecord {
  readonly claim: Claim
  readonly move: RecordedMove
  readonly record: PhaseRecord
}

/** The phases that may share a statement: those of one tenant with the same kinds of writes. */
export function groupOfRecord({ claim, move, record: { writes } }: PhaseToRecord): string {
  const kind = kindOf(writes) ?? writes.announces
  return [claim.tenantId, move.kind, kind, ...(kind === 'dispute' ? [claim.id] : [])].join(' ')
}

/**
 * Records phases of one group in one statement. Returns for each whether it was recorded; false, and
 * nothing is written for it, when its lease is lost. Repeating it after a lost acknowledgment is
 * safe: nothing is written twice.
 *
 * @throws StaleResourceError when the resource of a lone phase has left its previous status; nothing
 *   is written. Several phases throw another error then, and when two are about one payment.
 */
export async function recordEach(
  sql: Sql | Transaction,
  phases: readonly PhaseToRecord[],
): Promise<boolean[]> {
  const [first] = phases
  if (first === undefined) return []
  // An update changes a row once, whichever of two changes it finds first.
  const payments = new Set(phases.map(({ claim }) => claim.paymentId))
  if (payments.size < phases.length) throw new Error('two phases are about one payment')
  try {
    const rows = await writePhases(sql, phases, first)
    const recorded = new Set(rows.map(({ id }) => id))
    return phases.map(({ claim }) => recorded.has(claim.id))
  } catch (error) {
    if (phases.length > 1 || !isRaised(error, STALE_RESOURCE)) throw error
    throw staleResource(first.record.writes)
  }
}

function staleResource({ payment, refund, dispute }: Writes): StaleResourceError {
  if (dispute !== undefined) {
    return new StaleResourceError(`dispute ${dispute.dispute.id}`, dispute.before.status)
  }
  const kind = payment === undefined ? 'refund' : 'payment'
  const { id = '', previousStatus = '' } = payment ?? refund ?? {}
  return new StaleResourceError(`${kind} ${id}`, previousStatus)
}

async function writePhases(
  sql: Sql | Transaction,
  phases: readonly PhaseToRecord[],
  { move, record: { writes } }: PhaseToRecord,
): Promise<{ id: string }[]> {
  // All workers lock in the same order, so that they do not deadlock.
  const asked = phases
    .toSorted((one, other) => (one.claim.id < other.claim.id ? -1 : 1))
    .map(askedRow)
  return await sql<{ id: string }[]>`
    with asked as (
      select * from jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) as asked (
        tenant_id uuid, id uuid, recovery_point text, lease_epoch integer, shown_key text,
        ${columnsOfMove(sql, move.kind)}
      )
      ${expectOne(sql)}
    ),
    fenced as (
      update idempotency_keys set
        ${setByMove(sql, move.kind)},
        in_doubt = false, failure_kept = false, unknown_at = null, evidence = null,
        last_error = null
      from asked
      where ${isOwner(sql, askedFence(sql))}
      returning
        idempotency_keys.tenant_id, idempotency_keys.id, payment_id, refund_id, dispute_id, shown_key
    )
    ${partsOf(sql, phases, writes).map((part) => sql`, ${part}`)}
    select fenced.id, ${isRecorded(sql, kindOf(writes))} as recorded
    from fenced
    where ${seesTenants(
      sql,
      phases.map(({ claim }) => claim),
    )}
  `
}

const askedFence = (sql: Sql | Transaction) => ({
  tenantId: sql`asked.tenant_id`,
  id: sql`asked.id`,
  recoveryPoint: sql`asked.recovery_point`,
  leaseEpoch: sql`asked.lease_epoch`,
})

/** The phase as the statement reads it. */
function askedRow({ claim, move }: PhaseToRecord): Record<string, unknown> {
  const fence = {
    tenant_id: claim.tenantId,
    id: claim.id,
    recovery_point: claim.recoveryPoint,
    lease_epoch: claim.leaseEpoch,
    shown_key: shownKey(claim.key),
  }
  if (move.kind === 'advance') return { ...fence, reached: move.to, lease_ms: move.leaseMs }
  const { response, retentionSeconds } = move
  return {
    ...fence,
    response_status: response.status,
    response_headers: response.headers,
    response_body: responseBody.encrypt(claim, response.body),
    retention_seconds: retentionSeconds,
  }
}

function columnsOfMove(sql: Sql | Transaction, kind: RecordedMove['kind']): Fragment {
  if (kind === 'advance') return sql`reached text, lease_ms float8`
  return sql`
    response_status integer, response_headers jsonb, response_body text, retention_seconds float8
  `
}

function setByMove(sql: Sql | Transaction, kind: RecordedMove['kind']): Fragment {
  if (kind === 'advance') {
    return sql`
      recovery_point = asked.reached,
      lease_expires_at = now() + asked.lease_ms * interval '1 millisecond',
      phase_began_at = now()
    `
  }
  return sql`
    status = 'completed',
    recovery_point = 'finished',
    lease_expires_at = null,
    response_version = ${RESPONSE_VERSION},
    response_status = asked.response_status,
    response_headers = asked.response_headers,
    response_body = asked.response_body,
    finished_at = now(),
    expires_at = now() + asked.retention_seconds * interval '1 second'
  `
}

function kindOf({ payment, refund, dispute }: Writes): ResourceKind | undefined {
  if (payment !== undefined) return 'payment'
  if (refund !== undefined) return 'refund'
  return dispute && 'dispute'
}

/** Without the changed resource the statement raises an error, which undoes all its writes. */
function isRecorded(sql: Sql | Transaction, kind: ResourceKind | undefined): Fragment {
  if (kind === undefined) return sql`true`
  return sql`
    case when exists (
      select from changed
      where changed.tenant_id = fenced.tenant_id and changed.id = fenced.${sql(`${kind}_id`)}
    ) then true else raise_stale_resource() end
  `
}

function partsOf(
  sql: Sql | Transaction,
  phases: readonly PhaseToRecord[],
  { announces }: Writes,
): Fragment[] {
  const tries = phases.map(({ claim, record }) => ({ owner: claim, runs: record.runs }))
  const each = <Part>(pick: (writes: Writes, ownerId: string) => Part | undefined): Part[] =>
    phases.flatMap(({ claim, record }) => pick(record.writes, claim.id) ?? [])
  const payments = each(({ payment }, ownerId) => payment && { ownerId, payment })
  const refunds = each(({ refund }, ownerId) => refund && { ownerId, refund })
  const disputes = each(({ dispute }) => dispute)
  const ledgers = each(({ ledger }, ownerId) => ledger && { ownerId, entries: ledger })
  const reminders = each(({ reminder }, ownerId) => reminder && { ownerId, event: reminder })
  return [
    sql`runs as (${insertPhaseRunsIfOwner(sql, tries)})`,
    ...(payments.length === 0 ? [] : [changePaymentsIfOwner(sql, payments)]),
    ...(refunds.length === 0 ? [] : [changeRefundsIfOwner(sql, refunds)]),
    ...disputes.map((dispute) => changeDisputeIfOwner(sql, dispute)),
    ...(announces === undefined ? [] : [announceIfOwner(sql, announces)]),
    ...(ledgers.length === 0 ? [] : [sql`postings as (${insertPostingsIfOwner(sql, ledgers)})`]),
    ...(reminders.length === 0
      ? []
      : [storeProviderEventsIfOwner(sql, reminders, REMINDERS_QUEUE)]),
  ]
}
