// What a phase records: the tries of its provider call, and the changes that follow from the outcome.
import type { AnnouncedEvent } from '../../domain/events/event-types.ts'
import type { LedgerEntry } from '../../domain/ledger/ledger.ts'
import type { ChangedPayment, PaymentNotes } from '../../domain/payments/payment.ts'
import type { ProviderEvent } from '../../domain/events/provider-event.ts'
import type { ChangedDispute } from '../../domain/payments/dispute.ts'
import type { ChangedRefund } from '../../domain/payments/refund.ts'
import type { PhaseRun } from './phase-runs.ts'

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
  readonly runs: readonly PhaseRun[]
  readonly writes: Writes
}

/**
 * Adds the change of the next phase to the writes. Both become one change of the row, starting from
 * the status before the first.
 */
export function withChange(writes: Writes, { payment, refund }: ResourceChange): Writes {
  const { payment: paid, refund: given, ...rest } = writes
  const { dispute: _, announces: _announces, stores: _stores, ...others } = rest
  if (payment !== undefined) {
    const { previousStatus } = paid ?? payment
    return { ...others, payment: { ...payment, previousStatus } }
  }
  if (refund === undefined) return writes
  const { previousStatus } = given ?? refund
  return { ...others, refund: { ...refund, previousStatus } }
}

/** The types of the events that the record inserts. */
export function eventTypesOf({ payment, refund, dispute, announces }: Writes): readonly string[] {
  return [
    ...typesOfChange('payment', payment),
    ...typesOfChange('refund', refund),
    ...(dispute?.events ?? []),
    ...(announces === undefined ? [] : [announces]),
  ]
}

function typesOfChange(
  kind: string,
  changed: ChangedPayment | ChangedRefund | undefined,
): string[] {
  const isEvent = changed !== undefined && changed.status !== changed.previousStatus
  return isEvent ? [`${kind}.${changed.status}`] : []
}
