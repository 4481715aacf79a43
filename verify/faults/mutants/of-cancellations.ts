// Mutants of the cancellation of a key: what its client is told is true.
import type { Mutant } from './mutant.ts'

export const mutantsOfCancellations: readonly Mutant[] = [
  {
    name: 'undo-begun-counts-as-done',
    breaks: 'The event of a cancellation is closed before what it began has ended.',
    patches: [
      {
        file: 'src/operations/apply-provider-event.ts',
        text: '  const result = await applyBySubject(engine, event)\n',
        replacement: `  await closeProviderEventIfPending(sql, ref, 'applied')
  const result = await applyBySubject(engine, event)
`,
      },
    ],
    caughtBy: 7,
    shownBy: ['payment.create.canceled'],
  },
  {
    name: 'refused-refund-counts-as-undone',
    breaks:
      'A client is told that its payment is undone, although the provider refused the refund.',
    patches: [
      {
        file: 'src/operations/apply-cancellation.ts',
        text: "attempt + 1) : 'refused'",
        replacement: "attempt + 1) : 'undone'",
      },
    ],
    caughtBy: 5,
    shownBy: ['payment.create.canceled-in-vain'],
  },
]
