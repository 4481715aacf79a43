// Findings: problems that the service cannot solve by itself, reported to an operator with the
// evidence.

/**
 * The kinds of findings. `outcome_unknown`: the service could not find out whether an operation
 * happened. `operation_abandoned`: an operation was partly executed, or may have been, and its
 * client never retried. The other kinds are differences between our records and the provider's.
 * `missing_here`: the
 * provider has a record that we do not have. `missing_there`: we have a record that the provider
 * does not have. `charged_twice`, `held_twice` and `refunded_twice`: two objects of the provider
 * name the same operation, and the second one took, holds or returned money, or may still do so.
 * `ledger_differs`: the provider moved a different amount than the ledger shows. `unknown_movement`:
 * money moved on the provider's balance, and the service cannot say why.
 */
export const findingKinds = [
  'outcome_unknown',
  'operation_abandoned',
  'missing_here',
  'missing_there',
  'amount_differs',
  'currency_differs',
  'status_differs',
  'ledger_differs',
  'charged_twice',
  'held_twice',
  'refunded_twice',
  'unknown_movement',
] as const
export type FindingKind = (typeof findingKinds)[number]

/** The kinds that explain why a movement of the object differs. A surplus hold has moved nothing. */
export const explainingKinds: readonly FindingKind[] = findingKinds.filter(
  (kind) => kind !== 'held_twice',
)

export const findingStatuses = ['open', 'resolved'] as const

/** The statuses of a reconciliation run. */
export const runStatuses = ['pending', 'running', 'completed', 'failed'] as const
