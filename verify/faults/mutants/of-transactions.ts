// Mutants of what is written together: the statements of an intent or a record are one transaction.
import { ANNOUNCED } from '../case.ts'
import type { Mutant } from './mutant.ts'

export const mutantsOfTransactions: readonly Mutant[] = [
  {
    name: 'record-in-two-transactions',
    breaks: 'The recovery point advances before what the phase writes is committed.',
    patches: [
      {
        file: 'src/db/operations/record-phases.ts',
        text: '    await write(tx, tenantId, recorded)\n',
        replacement: `    await tx.unsafe('commit and chain')
    await write(tx, tenantId, recorded)
`,
      },
      // What a transaction sets ends with it.
      {
        file: 'src/db/connection/transaction.ts',
        text: '`set local ${TENANTS_SETTING} =',
        replacement: '`set ${TENANTS_SETTING} =',
      },
    ],
    caughtBy: 5,
    shownBy: ['payment.create:SIGKILL@worker/insert-ledger_postings/Execute#1/before'],
  },
  {
    name: 'event-behind-the-record',
    breaks: 'The event of a change is written when the change is committed.',
    patches: [
      {
        file: 'src/db/operations/record-phases.ts',
        text: '  return await inTenant(sql, tenantId, async (tx) => {\n',
        replacement: `  const late: NewEvent[] = []
  const outcomes = await inTenant(sql, tenantId, async (tx) => {
`,
      },
      {
        file: 'src/db/operations/record-phases.ts',
        text: 'await write(tx, tenantId, recorded)',
        replacement: 'late.push(...(await write(tx, tenantId, recorded)))',
      },
      {
        file: 'src/db/operations/record-phases.ts',
        text: 'recorded.includes(phase))\n  })\n',
        replacement: `recorded.includes(phase))
  })
  await inTenant(sql, tenantId, (tx) => writeEvents(tx, tenantId, late))
  return outcomes
`,
      },
      {
        file: 'src/db/operations/record-phases.ts',
        text: '): Promise<void> {\n  const each',
        replacement: '): Promise<NewEvent[]> {\n  const each',
      },
      {
        file: 'src/db/operations/record-phases.ts',
        text: `  await together([
    changing.then((changes) => writeEvents(tx, tenantId, changes.flat())),
`,
        replacement: `  const [changes] = await together([
    changing,
`,
      },
      {
        file: 'src/db/operations/record-phases.ts',
        text: '      REMINDERS_QUEUE,\n    ),\n  ])\n',
        replacement: '      REMINDERS_QUEUE,\n    ),\n  ])\n  return changes.flat()\n',
      },
    ],
    caughtBy: 5,
    shownBy: ['payment.create:SIGKILL@worker/commit-finish/ReadyForQuery#1/before'],
  },
  {
    name: 'deliveries-left-out',
    breaks: 'An event is written without its deliveries.',
    patches: [
      {
        file: 'src/db/events/write-events.ts',
        text: '.map((endpoint) => deliveryOf(tenantId, event.id, endpoint.id))',
        replacement: '.flatMap(() => [])',
      },
    ],
    caughtBy: 7,
    shownBy: [ANNOUNCED],
  },
  {
    name: 'job-left-out',
    breaks:
      'Only one of the intents that share a transaction has a job, and the sweeper adds none.',
    patches: [
      {
        file: 'src/db/idempotency/intents.ts',
        text: 'addOperationJobs(tx, jobs)',
        replacement: 'addOperationJobs(tx, jobs.slice(0, 1))',
      },
      {
        file: 'src/db/operations/sweeper.ts',
        text: 'if (oldest.length === 0) return []',
        replacement: 'if (oldest.length >= 0) return []',
      },
    ],
    caughtBy: 7,
    shownBy: ['payment.create.together'],
  },
  {
    name: 'refused-key-kept',
    breaks: 'An intent is refused, and its key stays reserved.',
    patches: [
      {
        file: 'src/db/idempotency/intents.ts',
        text: 'releaseKeys(tx, tenantId, refused)',
        replacement: 'releaseKeys(tx, tenantId, [])',
      },
    ],
    // Otherwise a key without its payment fails the transaction.
    schema: ['alter table idempotency_keys drop constraint idempotency_keys_payment'],
    caughtBy: 7,
    shownBy: ['payment.create.together'],
  },
  {
    name: 'idle-transaction-not-ended',
    breaks:
      'A process that is suspended within a transaction keeps its key for as long as it likes.',
    patches: [
      {
        file: 'src/db/connection/client.ts',
        text: 'idle_in_transaction_session_timeout: options.timeoutMs',
        replacement: 'idle_in_transaction_session_timeout: 0',
      },
    ],
    caughtBy: 7,
    shownBy: ['payment.create:suspended-with-key@api/reserve/ReadyForQuery#1/before'],
  },
]
