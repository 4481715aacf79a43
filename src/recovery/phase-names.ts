// Names phases in statements, by what the tables of the operations say about their calls.
import type { Fragment, Sql, Transaction } from '../db/connection/client.ts'
import type { Engine } from '../engine/engine.ts'
import type { PhaseCall } from '../engine/phase-call.ts'

/** A recovery point of an operation. */
export interface PhaseName {
  readonly operation: string
  readonly recoveryPoint: string
}

/** The phases of all operations whose call meets the condition. A local phase has none. */
export function phasesWith(
  { operations }: Pick<Engine, 'operations'>,
  meets: (call: PhaseCall | undefined) => boolean,
): PhaseName[] {
  return operations.flatMap(({ name, phases }) =>
    Object.entries(phases)
      .filter(([, { call }]) => meets(call))
      .map(([recoveryPoint]) => ({ operation: name, recoveryPoint })),
  )
}

/** The condition that an operation is at one of these recovery points. */
export const isAtOneOf = (sql: Sql | Transaction, phases: readonly PhaseName[]): Fragment => sql`
  (operation, recovery_point) in (
    select * from unnest(
      ${phases.map(({ operation }) => operation)}::text[],
      ${phases.map(({ recoveryPoint }) => recoveryPoint)}::text[]
    )
  )
`
