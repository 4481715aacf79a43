// Mutants of references. A reference stands for one order, which is charged once under all its keys.
import type { Mutant } from './mutant.ts'

export const mutantsOfReferences: readonly Mutant[] = [
  {
    name: 'reference-not-written',
    breaks: 'The index that decides about references has no entry for a new payment.',
    patches: [
      {
        file: 'src/db/payments/payments.ts',
        text: '    ...details,\n',
        replacement: '    ...details,\n    reference: null,\n',
      },
    ],
    caughtBy: 1,
    shownBy: ['payment.create.referenced'],
  },
  {
    name: 'reference-of-a-refund-not-written',
    breaks: 'The index that decides about references has no entry for a new refund.',
    patches: [
      {
        file: 'src/db/payments/refunds.ts',
        text: '      ...intent.details,\n',
        replacement: '      ...intent.details,\n      reference: null,\n',
      },
    ],
    caughtBy: 1,
    shownBy: ['refund.create.referenced'],
  },
]
