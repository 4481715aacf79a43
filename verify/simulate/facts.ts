// The input of the invariant checks, and their result.
import type { History } from './history.ts'
import type { Executed } from './provider.ts'
import type { Records } from './records.ts'

export interface Verdict {
  /** The number of the invariant of ARCHITECTURE.md that the promise belongs to. */
  readonly invariant: number
  readonly promise: string
  /** Number of objects checked. */
  readonly checked: number
  /** One text per violation, with the ids. */
  readonly broken: readonly string[]
}

export interface Facts {
  readonly history: History
  readonly records: Records
  /** The provider calls executed for a payment, by the payment id in their metadata. */
  readonly executedFor: (paymentId: string) => readonly Executed[]
}

export function ofKind(executed: readonly Executed[], kind: string): Executed[] {
  return executed.filter((entry) => entry.kind === kind)
}

/** What the refunds took from the captured money at the provider, in minor units. */
export function refundedAt(executed: readonly Executed[]): number {
  return sumOf(ofKind(executed, 'refund.create')) - sumOf(ofKind(executed, 'refund.fail'))
}

/** What the disputes took from the captured money, less what they gave back, and their fees. */
export function disputedAt(executed: readonly Executed[]): { amount: number; fees: number } {
  const [taken, returned] = ['dispute.withdraw', 'dispute.reinstate'].map((kind) =>
    sumOf(ofKind(executed, kind)),
  )
  return { amount: (taken ?? 0) - (returned ?? 0), fees: sumOf(ofKind(executed, 'dispute.fee')) }
}

export function sumOf(executed: readonly Executed[]): number {
  return executed.reduce((sum, { amount }) => sum + amount, 0)
}
