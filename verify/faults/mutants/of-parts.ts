// Mutants of statements that are executed in parts, as on Citus.
import type { Mutant } from './mutant.ts'

export const mutantsOfParts: readonly Mutant[] = [
  {
    name: 'part-committed-alone',
    breaks: 'A part that changes rows is committed before those that follow it.',
    patches: [
      {
        file: 'src/db/distributed/execution.ts',
        text: 'return await this.#send(statement)\n  }\n\n  async #rowsOf',
        replacement: `const changed = await this.#send(statement)
    await this.#tx.unsafe('commit and chain')
    return changed
  }

  async #rowsOf`,
      },
      // The tenants that a transaction names end with it.
      {
        file: 'src/db/distributed/execute-text.ts',
        text: '`set local ${TENANTS_SETTING} =',
        replacement: '`set ${TENANTS_SETTING} =',
      },
    ],
    caughtBy: 5,
    shownBy: ['payment.create.in-parts:SIGKILL@worker/insert-ledger_postings/Bind#1/before'],
  },
]
