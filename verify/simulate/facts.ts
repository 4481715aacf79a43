// What the invariants are checked by, and what comes of a check.
import type { History } from './history.ts'
import type { Executed } from './provider.ts'
import type { Records } from './records.ts'

export interface Verdict {
  readonly promise: string
  /** How many were looked at. */
  readonly checked: number
  /** What is wrong, each with its ids. */
  readonly broken: readonly string[]
}

export interface Facts {
  readonly history: History
  readonly records: Records
  /** What the provider has executed, by the payment that its metadata names. */
  readonly executedFor: (paymentId: string) => readonly Executed[]
}

export function ofKind(executed: readonly Executed[], kind: string): Executed[] {
  return executed.filter((entry) => entry.kind === kind)
}

export function sumOf(executed: readonly Executed[]): number {
  return executed.reduce((sum, { amount }) => sum + amount, 0)
}
