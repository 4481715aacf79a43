// Findings: what a machine cannot set right, put before a person with the evidence.

/**
 * What can be found. `outcome_unknown`: whether an operation has happened could not be learned.
 * `operation_abandoned`: an operation stopped half-way, and its client never came back. The others are
 * differences between our records and the provider's. `missing_here`: the provider has what we have no
 * record of. `missing_there`: we have a record of what the provider has not. `charged_twice`: two
 * objects of the provider name the same operation. `ledger_differs`: the provider moved another amount
 * than the ledger says.
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
] as const
export type FindingKind = (typeof findingKinds)[number]

export const findingStatuses = ['open', 'resolved'] as const
export type FindingStatus = (typeof findingStatuses)[number]

/** A comparison of a window of time, from its request to its end. */
export const runStatuses = ['pending', 'running', 'completed', 'failed'] as const
export type RunStatus = (typeof runStatuses)[number]
