// Mutants of batches: of transactions that several requests, or several phases, share.
import { CHECK_THEN_INSERT, NO_UNIQUE_KEY, type Mutant } from './mutant.ts'

const TOGETHER = ['payment.create.together']

export const mutantsOfBatches: readonly Mutant[] = [
  {
    name: 'outcomes-of-a-batch-mixed-up',
    breaks: 'A request gets the outcome of another one in its transaction.',
    patches: [
      {
        file: 'src/db/idempotency/intents.ts',
        text: 'return intents.map(({ id, key }) => {',
        replacement: 'return intents.toReversed().map(({ id, key }) => {',
      },
    ],
    caughtBy: 3,
    shownBy: TOGETHER,
  },
  {
    name: 'refusal-fails-the-batch',
    breaks: 'One refused request rolls back all others in its transaction.',
    patches: [
      {
        file: 'src/db/idempotency/intents.ts',
        text: '  const following = [',
        replacement: `  if (refused.length > 0) throw new IntentRefusedError('one of them')
  const following = [`,
      },
      {
        file: 'src/db/idempotency/intents.ts',
        text: `  const { holders, outcomes } = await inTenant(sql, tenantId, (tx) =>
    writeIntents(tx, tenantId, intents, write),
  )
`,
        replacement: `  const written = await inTenant(sql, tenantId, (tx) =>
    writeIntents(tx, tenantId, intents, write),
  ).catch((error: unknown) => {
    if (error instanceof IntentRefusedError) return undefined
    throw error
  })
  if (written === undefined) return intents.map(() => 'refused' as const)
  const { holders, outcomes } = written
`,
      },
    ],
    caughtBy: 3,
    shownBy: TOGETHER,
  },
  {
    name: 'key-not-unique-in-a-batch',
    breaks: 'Two requests with one key in one transaction both find it free.',
    patches: [CHECK_THEN_INSERT],
    schema: [NO_UNIQUE_KEY],
    caughtBy: 1,
    shownBy: TOGETHER,
  },
  {
    name: 'answers-of-a-batch-mixed-up',
    breaks: 'Every phase of a transaction stores the answer of one of them.',
    patches: [
      {
        file: 'src/db/operations/record-phases.ts',
        text: 'moveIfOwner(tx, phase)))',
        replacement: 'moveIfOwner(tx, { ...phase, move: inOrder[0]?.move ?? phase.move })))',
      },
    ],
    caughtBy: 3,
    shownBy: TOGETHER,
  },
]
