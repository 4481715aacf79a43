// Examples of the statements of connections: which server, session and epoch it is, notifications and
// pages.
import { createIdleAnnouncer, createJobWaker } from '../../src/db/connection/notifications.ts'
import { readPage } from '../../src/db/connection/pages.ts'
import { readServer } from '../../src/db/connection/server/server.ts'
import { advanceAnswerEpoch, readAnswerEpoch } from '../../src/db/idempotency/dropped-responses.ts'
import { allowLongStatements } from '../../src/db/connection/transaction.ts'
import { endStalledSessions } from '../../src/db/connection/stalled-sessions.ts'
import { readDatabaseFacts, readServerTime } from '../../src/db/operators/database-facts.ts'
import { example, type Example, ID, PAGE } from './example.ts'

function fail(error: unknown): void {
  throw error
}

export const connectionExamples: readonly Example[] = [
  example(createJobWaker, (sql) => createJobWaker(sql, fail)()),
  example(createIdleAnnouncer, (sql) => createIdleAnnouncer(sql, fail)(ID)),
  example(readPage, (sql) => {
    const entries = sql`from payments where true`
    return readPage(sql, { columns: sql`id`, entries, fromRow: Object }, PAGE)
  }),
  example(allowLongStatements, []),
  example(endStalledSessions, [60_000]),
  example(readDatabaseFacts, [], [[{ version: '18' }]]),
  example(readServerTime, []),
  example(advanceAnswerEpoch, []),
  example(readAnswerEpoch, [], [[{ cluster: '1' }]]),
  example(readServer, [], [[{ cluster: '1' }]]),
]
