// Records phases: one statement writes the outcome of the provider call and advances the recovery
// point, in one transaction and one round trip. Its parts select from the CTE `fenced`, so that a
// worker that lost its lease writes nothing.
import type { LedgerEntry } from '../../domain/ledger/ledger.ts'
import type { StoredResponse } from '../../domain/operations/operation.ts'
import type { ChangedPayment } from '../../domain/payments/payment.ts'
import type { ProviderEvent } from '../../domain/events/provider-event.ts'
import type { ChangedDispute } from '../../domain/payments/dispute-changes.ts'
import type { ChangedRefund } from '../../domain/payments/refund.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { responseBody } from '../encryption/encrypted-values.ts'
import { isOwner } from './fence.ts'
import type { Claim } from './leases.ts'
import { insertPostingsIfOwner } from '../ledger/ledger.ts'
import { changePaymentIfOwner, StaleResourceError } from '../payments/payment-changes.ts'
import { insertPhaseRunsIfOwner, type PhaseRun } from './phase-runs.ts'
import { storeProviderEventIfOwner } from '../events/provider-events.ts'
import { REMINDERS_QUEUE } from '../queue/queues.ts'
import { changeDisputeIfOwner } from '../payments/disputes.ts'
import { changeRefundIfOwner } from '../payments/refunds.ts'
import { seesTenant } from '../connection/row-security.ts'
import { isRaised, STALE_RESOURCE } from '../connection/store-errors.ts'

/**
 * The resource that a phase changes: a payment, a refund or a dispute, never several, because a
 * statement may change a row only once.
 */
export type ResourceChange =
  | { readonly payment?: ChangedPayment; readonly refund?: never; readonly dispute?: never }
  | { readonly payment?: never; readonly refund?: ChangedRefund; readonly dispute?: never }
  | { readonly payment?: never; readonly refund?: never; readonly dispute?: ChangedDispute }

/** All writes of a phase. */
export type Writes = ResourceChange & {
  /** The ledger transactions to insert. */
  readonly ledger?: readonly LedgerEntry[]
  /** An internal event, which makes a worker look at the payment again later. */
  readonly reminder?: ProviderEvent
}

/** The record of a phase beside the recovery point: the tries of its call, and its writes. */
export interface PhaseRecord {
  readonly runs: readonly PhaseRun[]
  readonly writes: Writes
}

/**
 * Adds the change of the next phase to the writes. Both become one change of the row, starting from
 * the status before the first.
 */
export function withChange(writes: Writes, { payment, refund }: ResourceChange): Writes {
  if (payment !== undefined) {
    const { previousStatus } = writes.payment ?? payment
    return { ...withoutResource(writes), payment: { ...payment, previousStatus } }
  }
  if (refund === undefined) return writes
  const { previousStatus } = writes.refund ?? refund
  return { ...withoutResource(writes), refund: { ...refund, previousStatus } }
}

function withoutResource({
  payment: _payment,
  refund: _refund,
  dispute: _dispute,
  ...rest
}: Writes) {
  return rest
}

/** The types of the events that the record inserts together with its change. */
export function eventTypesOf({ payment, refund, dispute }: Writes): readonly string[] {
  return [
    ...typesOfChange('payment', payment),
    ...typesOfChange('refund', refund),
    ...(dispute?.events ?? []),
  ]
}

function typesOfChange(
  kind: string,
  changed: ChangedPayment | ChangedRefund | undefined,
): string[] {
  const isEvent = changed !== undefined && changed.status !== changed.previousStatus
  return isEvent ? [`${kind}.${changed.status}`] : []
}

const EMPTY_RECORD: PhaseRecord = { runs: [], writes: {} }

/**
 * Records the phase, advances to the next recovery point and renews the lease. Returns false and
 * writes nothing when the lease is lost.
 *
 * @throws StaleResourceError when the resource has left its previous status; nothing is written.
 */
export async function advanceIfOwner(
  sql: Sql | Transaction,
  claim: Claim,
  to: string,
  leaseMs: number,
  record = EMPTY_RECORD,
): Promise<boolean> {
  const step = sql`
    recovery_point = ${to},
    lease_expires_at = now() + ${leaseMs} * interval '1 millisecond',
    phase_began_at = now()
  `
  return await recordIfOwner(sql, claim, step, record)
}

/**
 * Records the phase, stores the response and completes the operation; the retention of its key
 * starts again. Returns false and writes nothing when the lease is lost.
 *
 * @throws StaleResourceError when the resource has left its previous status; nothing is written.
 */
export async function finishIfOwner(
  sql: Sql | Transaction,
  claim: Claim,
  response: StoredResponse,
  retentionSeconds: number,
  record = EMPTY_RECORD,
): Promise<boolean> {
  const step = sql`
    status = 'completed',
    recovery_point = 'finished',
    lease_expires_at = null,
    response_status = ${response.status},
    response_headers = ${JSON.stringify(response.headers)}::jsonb,
    response_body = ${responseBody.encrypt(claim, response.body)},
    finished_at = now(),
    expires_at = now() + ${retentionSeconds} * interval '1 second'
  `
  return await recordIfOwner(sql, claim, step, record)
}

async function recordIfOwner(
  sql: Sql | Transaction,
  claim: Claim,
  step: Fragment,
  record: PhaseRecord,
): Promise<boolean> {
  const { payment, refund, dispute } = record.writes
  const changed = payment ?? refund ?? dispute?.dispute
  // Without a changed resource the statement raises an error, which undoes all its writes.
  const recorded =
    changed === undefined
      ? sql`true`
      : sql`case when exists (select from changed) then true else raise_stale_resource() end`
  try {
    const { count } = await sql`
      with fenced as (
        update idempotency_keys set
          ${step}, in_doubt = false, failure_kept = false,
          unknown_at = null, evidence = null, last_error = null
        where ${isOwner(sql, claim)}
        returning tenant_id, id, payment_id, refund_id, dispute_id
      )
      ${partsOf(sql, claim, record).map((part) => sql`, ${part}`)}
      select ${recorded} as recorded from fenced where ${seesTenant(sql, claim.tenantId)}
    `
    return count === 1
  } catch (error) {
    if (changed === undefined || !isRaised(error, STALE_RESOURCE)) throw error
    throw staleResource(record.writes)
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

function partsOf(sql: Sql | Transaction, claim: Claim, { runs, writes }: PhaseRecord): Fragment[] {
  const { payment, refund, dispute, ledger = [], reminder } = writes
  const { key } = claim
  return [
    sql`runs as (${insertPhaseRunsIfOwner(sql, claim, runs)})`,
    ...(payment === undefined ? [] : [changePaymentIfOwner(sql, payment, key)]),
    ...(refund === undefined ? [] : [changeRefundIfOwner(sql, refund, key)]),
    ...(dispute === undefined ? [] : [changeDisputeIfOwner(sql, dispute)]),
    ...ledger.map((entry, index) => {
      const name = index === 0 ? sql`postings` : sql(`postings_${index}`)
      return sql`${name} as (${insertPostingsIfOwner(sql, entry)})`
    }),
    ...(reminder === undefined ? [] : [storeProviderEventIfOwner(sql, reminder, REMINDERS_QUEUE)]),
  ]
}
