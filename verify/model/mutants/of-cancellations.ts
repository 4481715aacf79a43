// Mutants of the event that undoes a canceled operation.
import { plain, type ModelMutant, type SpaceForMutant } from './mutant.ts'

const UNDOING = { cancels: true, appliers: 1 } as const

/** The spaces for the mutants of the fault suite. */
export const spacesForCancellations: Readonly<Record<string, SpaceForMutant>> = {
  'undo-begun-counts-as-done': { ...UNDOING, foundBy: '7' },
  'refused-refund-counts-as-undone': {
    ...UNDOING,
    foundBy: '5',
    provider: ['declines'],
  },
}

export const mutantsOfCancellations: readonly ModelMutant[] = [
  {
    name: 'undone-while-a-refund-is-under-way',
    breaks: 'A client is told that its payment is undone, while its own refund may still fail.',
    patches: [
      {
        file: 'src/operations/apply-provider-event.ts',
        text: "  if (isRefunding) return 'pending'\n",
        replacement: '',
      },
    ],
    schema: [],
    space: plain('a payment is undone beside a refund', { ...UNDOING, refundsPart: true }),
    foundBy: '5: the cancellation is undone',
  },
]
