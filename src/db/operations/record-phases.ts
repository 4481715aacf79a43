// Records phases: one transaction writes the outcomes of their provider calls and advances the recovery
// points. Its first statements move the rows of the keys, under lease epoch and recovery point, so that a
// worker that lost its lease writes nothing.
import { randomUUIDv7 } from 'node:crypto'
import type { AnnouncedEvent } from '../../domain/events/event-types.ts'
import type { ProviderEvent } from '../../domain/events/provider-event.ts'
import type { LedgerEntry } from '../../domain/ledger/ledger.ts'
import type { StoredResponse } from '../../domain/operations/operation.ts'
import { RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'
import type { ChangedDispute } from '../../domain/payments/dispute.ts'
import type { ChangedPayment, PaymentNotes } from '../../domain/payments/payment.ts'
import type { ChangedRefund } from '../../domain/payments/refund.ts'
import type { Counts } from '../../domain/tenants/tenant-counts.ts'
import { createBatches, type BatchLimits } from '../connection/batches.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { inTenant, thenCommit, together } from '../connection/transaction.ts'
import { responseBody } from '../../encryption/encryption.ts'
import { addProviderEvents } from '../events/provider-events.ts'
import {
  findPaymentEvents,
  findSubscribers,
  writeEvents,
  type NewEvent,
} from '../events/write-events.ts'
import { updateDispute } from '../payments/disputes.ts'
import { storeOnPayment, updatePayment } from '../payments/payments.ts'
import { updateRefund } from '../payments/refunds.ts'
import { REMINDERS_QUEUE } from '../queue/jobs.ts'
import { isOwner } from '../idempotency/idempotency-keys.ts'
import type { Claim } from './leases.ts'
import { appendPhaseRuns, type PhaseRun } from './phase-runs.ts'
import { nextId, rowsOf } from '../connection/rows.ts'
import type { OperationRow } from './operation-rows.ts'

/**
 * The resource that a phase changes: a payment, a refund or a dispute, never several, because a
 * statement may change a row only once. A change of the status is an event. A phase that changes
 * none can store something on its payment instead, and announce an event about it.
 */
export type ResourceChange =
  | Only<'payment', ChangedPayment>
  | Only<'refund', ChangedRefund>
  | Only<'dispute', ChangedDispute>
  | Only<'announces', AnnouncedEvent, { readonly stores?: PaymentNotes }>

type Only<Name extends Member, Value, With = unknown> = With & {
  readonly [Key in Name]?: Value
} & {
  readonly [Key in Exclude<Member, Name | keyof With>]?: never
}

type Member = 'payment' | 'refund' | 'dispute' | 'announces' | 'stores'

/** All writes of a phase. */
export type Writes = ResourceChange & {
  /** The ledger transactions to insert. */
  readonly ledger?: readonly LedgerEntry[]
  /** An internal event, which makes a worker look at the payment again later. */
  readonly reminder?: ProviderEvent
}

/** The record of a phase beside the recovery point: the tries of its call, and its writes. */
export interface PhaseRecord {
  readonly tries: readonly PhaseRun[]
  readonly writes: Writes
}

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

/** Whether the phase was recorded; false when its lease is lost. See `recordEach`. */
export type RecordPhase = (sql: Sql, phase: PhaseToRecord) => Promise<boolean>

/**
 * Records of a tenant that come together share one transaction. Tenants do not share one: one that waits for
 * a lock of a tenant delays no other.
 *
 * @param running the operations whose phases may share a transaction; without it none is waited for.
 */
export function batchRecords(running?: Counts, limits?: BatchLimits): RecordPhase {
  const record = createBatches(
    (phases: readonly PhaseToRecord[], sql: Sql) => recordEach(sql, phases),
    {
      groupOf: ({ claim }) => claim.tenantId,
      subjectOf: ({ claim }) => claim.paymentId,
      siblings: ({ claim }) => running?.of(claim.tenantId) ?? 0,
      limits,
    },
  )
  return (sql, phase) => record(phase, sql)
}

/**
 * Records phases of one tenant in one transaction. Returns for each whether it was recorded: nothing is
 * written for one whose lease is lost. It is safe to repeat after a lost acknowledgment.
 *
 * @throws StaleResourceError, and writes nothing, when a resource has left its previous status.
 */
export async function recordEach(sql: Sql, phases: readonly PhaseToRecord[]): Promise<boolean[]> {
  const [{ claim: { tenantId } } = { claim: { tenantId: '' } }] = phases
  // All workers lock in the same order, so that they do not deadlock.
  const inOrder = phases.toSorted((one, other) => (one.claim.id < other.claim.id ? -1 : 1))
  return await inTenant(sql, tenantId, async (tx) => {
    const [moved, subscribers, ledgerIds] = await together([
      together(inOrder.map((phase) => moveIfOwner(tx, phase))),
      findSubscribers(tx, tenantId),
      makeLedgerIds(tx, tenantId, inOrder.flatMap(postingsOf)),
    ])
    const recorded = inOrder.filter((_, index) => moved[index])
    const events = await write(tx, tenantId, recorded, ledgerIds)
    const writing = [writeEvents(tx, tenantId, events, subscribers)] as const
    await (subscribers.length === 0 ? thenCommit(tx, writing) : together(writing))
    return phases.map((phase) => recorded.includes(phase))
  })
}

/** Whether the operation has gone on: the rest of the transaction is written only if its row changed. */
async function moveIfOwner(tx: Transaction, { claim, move }: PhaseToRecord): Promise<boolean> {
  const { count } =
    move.kind === 'advance'
      ? await tx`
          update idempotency_keys set
            recovery_point = ${move.to},
            lease_expires_at = now() + ${move.leaseMs} * interval '1 millisecond',
            phase_began_at = now(),
            in_doubt = false, failure_stored = false, unknown_at = null, evidence = null,
            last_error = null
          where ${isOwner(tx, claim)}
        `
      : await tx`
          update idempotency_keys set
            status = 'completed',
            recovery_point = 'finished',
            lease_expires_at = null,
            response_version = ${RESPONSE_VERSION},
            response_status = ${move.response.status},
            response_headers = ${JSON.stringify(move.response.headers)}::jsonb,
            response_body = ${responseBody.encrypt(claim, move.response.body)},
            finished_at = now(),
            expires_at = now() + ${move.retentionSeconds} * interval '1 second',
            in_doubt = false, failure_stored = false, unknown_at = null, evidence = null,
            last_error = null
          where ${isOwner(tx, claim)}
        `
  return count === 1
}

/** Writes what follows from the phases that were moved, except the events, which it returns. */
async function write(
  tx: Transaction,
  tenantId: string,
  phases: readonly PhaseToRecord[],
  ledgerIds: readonly string[],
): Promise<NewEvent[]> {
  const [events] = await together([
    together(
      phases.map(({ claim, record: { writes } }) => changeResource(tx, tenantId, claim, writes)),
    ),
    appendPhaseRuns(tx, phases.map(triesOf)),
    insertPostings(tx, tenantId, phases.flatMap(postingsOf), ledgerIds),
    addProviderEvents(tx, phases.flatMap(remindersOf), REMINDERS_QUEUE),
  ])
  return events.flat()
}

const triesOf = ({ claim, record: { tries } }: PhaseToRecord) => ({ owner: claim, tries })

const postingsOf = ({ claim, record: { writes } }: PhaseToRecord) =>
  (writes.ledger ?? []).map((entry) => ({ claim, entry }))

const remindersOf = ({ record: { writes } }: PhaseToRecord) => writes.reminder ?? []

/** Changes the resource of a phase. Returns the events of the change, unless they are written. */
async function changeResource(
  tx: Transaction,
  tenantId: string,
  { key, paymentId }: Claim,
  { payment, refund, dispute, announces, stores }: Writes,
): Promise<NewEvent[]> {
  if (payment !== undefined) return await updatePayment(tx, payment, key)
  if (refund !== undefined) return await updateRefund(tx, refund, key)
  if (dispute !== undefined) return await updateDispute(tx, dispute)
  if (stores !== undefined) await storeOnPayment(tx, tenantId, paymentId, stores)
  return announces === undefined
    ? []
    : await findPaymentEvents(tx, tenantId, [paymentId], announces, key)
}

/**
 * Inserts ledger transactions of operations of a tenant, each with its postings, which never change.
 *
 * @param ids of `makeLedgerIds`, at least one for each.
 */
export async function insertPostings(
  tx: Transaction,
  tenantId: string,
  posted: readonly { readonly claim: OperationRow; readonly entry: LedgerEntry }[],
  ids: readonly string[],
): Promise<void> {
  if (posted.length === 0) return
  const rows = posted.flatMap(({ claim, entry: { kind, currency, postings } }, index) => {
    const { id: operationId, paymentId, refund, dispute } = claim
    const ofOperation = { operationId, paymentId, refundId: refund?.id, disputeId: dispute?.id }
    const transaction = { tenantId, transactionId: ids[index], kind, currency, ...ofOperation }
    return postings.map(({ debit, credit, amountMinor }) => ({
      id: randomUUIDv7(),
      ...transaction,
      debit,
      credit,
      amountMinor,
    }))
  })
  await tx`insert into ledger_postings ${rowsOf(tx, rows)}`
}

/** Makes the ids of ledger transactions. They have to be inserted in this transaction. */
export async function makeLedgerIds(
  tx: Transaction,
  tenantId: string,
  posted: readonly { readonly claim: OperationRow }[],
): Promise<string[]> {
  if (posted.length === 0) return []
  const rows = await tx<{ id: string }[]>`
    select ${nextId(tx, 'ledger', tx`${tenantId}::uuid`)} as id
    from unnest(${posted.map(({ claim }) => claim.id)}::uuid[])
  `
  return rows.map(({ id }) => id)
}
