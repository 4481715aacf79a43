// Mutants of batches: of statements that several requests, or several phases, share.
import { CHECK_THEN_INSERT, NO_UNIQUE_KEY, type Mutant } from './mutant.ts'

const TOGETHER = ['payment.create.together']

export const mutantsOfBatches: readonly Mutant[] = [
  {
    name: 'outcomes-of-a-batch-mixed-up',
    breaks: 'A request gets the outcome of another one in its statement.',
    patches: [
      {
        file: 'src/db/idempotency/intents.ts',
        text: 'return intents.map(({ id }) => found.get(id))',
        replacement: 'return [...found.values()].toReversed()',
      },
    ],
    caughtBy: 3,
    shownBy: TOGETHER,
  },
  {
    name: 'refusal-fails-the-batch',
    breaks: 'One refused request rolls back all others in its statement.',
    patches: [
      {
        file: 'src/db/idempotency/intents.ts',
        text: 'where is_allowed and (expired_keys',
        replacement: 'where (expired_keys',
      },
      {
        file: 'src/db/payments/payments.ts',
        text: 'and asked.id = reserved.id\n',
        replacement: 'and asked.id = reserved.id\n      where asked.is_allowed\n',
      },
      {
        file: 'src/db/idempotency/intents.ts',
        text: "if (intents.length > 1) throw error\n    if (isRaised(error, INTENT_REFUSED)) return ['refused']",
        replacement:
          "if (isRaised(error, INTENT_REFUSED)) return intents.map(() => 'refused' as const)",
      },
    ],
    caughtBy: 3,
    shownBy: TOGETHER,
  },
  {
    name: 'key-not-unique-in-a-batch',
    breaks: 'Two requests with one key in one statement both find it free.',
    patches: [CHECK_THEN_INSERT],
    schema: [NO_UNIQUE_KEY],
    caughtBy: 1,
    shownBy: TOGETHER,
  },
  {
    name: 'answers-of-a-batch-mixed-up',
    breaks: 'Every phase of a statement stores the answer of one of them.',
    patches: [
      {
        file: 'src/db/operations/record-phases.ts',
        text: '.map(askedRow)',
        replacement: '.map((phase) => askedRow({ ...phase, move }))',
      },
    ],
    caughtBy: 3,
    shownBy: TOGETHER,
  },
]
