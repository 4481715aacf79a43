// Mutants of disputes: what a dispute takes and gives back is posted, once.
import type { Mutant } from './mutant.ts'

export const mutantsOfDisputes: readonly Mutant[] = [
  {
    name: 'dispute-dropped',
    breaks: 'An event of a dispute is ignored.',
    patches: [
      {
        file: 'src/operations/apply-provider-event.ts',
        text: 'return await applyDisputeEvent(engine, event)',
        replacement: "return 'ignored'",
      },
    ],
    caughtBy: 5,
    shownBy: ['dispute.follow'],
  },
  {
    name: 'dispute-withdrawn-twice',
    breaks: 'What a dispute took is posted again with each later change of the dispute.',
    patches: [
      {
        file: 'src/domain/payments/dispute-changes.ts',
        text: 'withdrawnMinor: standing.withdrawnMinor - before.withdrawnMinor',
        replacement: 'withdrawnMinor: standing.withdrawnMinor',
      },
    ],
    caughtBy: 5,
    shownBy: ['dispute.follow'],
  },
  {
    name: 'won-dispute-not-posted',
    breaks: 'The ledger never learns that a dispute was won.',
    patches: [
      {
        file: 'src/domain/payments/dispute-changes.ts',
        text: 'reinstatedMinor: standing.reinstatedMinor - before.reinstatedMinor',
        replacement: 'reinstatedMinor: 0',
      },
    ],
    caughtBy: 5,
    shownBy: ['dispute.follow'],
  },
]
