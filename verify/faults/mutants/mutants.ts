// All mutants. Each must be caught by the invariant that it names, or the suite proves nothing
// there.
import type { Mutant } from './mutant.ts'
import { mutantsOfBatches } from './of-batches.ts'
import { mutantsOfCalls } from './of-calls.ts'
import { mutantsOfCancellations } from './of-cancellations.ts'
import { mutantsOfCopies } from './of-copies.ts'
import { mutantsOfDisputes } from './of-disputes.ts'
import { mutantsOfEvents } from './of-events.ts'
import { mutantsOfHolds } from './of-holds.ts'
import { mutantsOfKeys } from './of-keys.ts'
import { mutantsOfLateCalls } from './of-late-calls.ts'
import { mutantsOfLeases } from './of-leases.ts'
import { mutantsOfMoney } from './of-money.ts'
import { mutantsOfNeighbours } from './of-neighbours.ts'
import { mutantsOfTransactions } from './of-transactions.ts'
import { mutantsOfReferences } from './of-references.ts'
import { mutantsOfRoutes } from './of-routes.ts'
import { mutantsOfSecrets } from './of-secrets.ts'

export const mutants: readonly Mutant[] = [
  ...mutantsOfLeases,
  ...mutantsOfCalls,
  ...mutantsOfLateCalls,
  ...mutantsOfEvents,
  ...mutantsOfDisputes,
  ...mutantsOfKeys,
  ...mutantsOfCopies,
  ...mutantsOfBatches,
  ...mutantsOfReferences,
  ...mutantsOfRoutes,
  ...mutantsOfMoney,
  ...mutantsOfHolds,
  ...mutantsOfCancellations,
  ...mutantsOfTransactions,
  ...mutantsOfSecrets,
  ...mutantsOfNeighbours,
]
