// Holds answers against what was asked. A row about something else shows that statements and answers
// were mixed up, between this process and the server: no answer of these connections can be believed.
import type { Sql } from 'postgres'
import { endSessions } from './pool.ts'
import { OWN_SESSIONS, SessionError } from './session.ts'

/**
 * Ends all connections of the pool unless each row is about what was asked. A client that gets
 * another one's answer may pay twice.
 *
 * @throws SessionError.
 */
export function expectOwn<Row>(
  sql: Sql,
  rows: readonly Row[],
  isAsked: (row: Row) => boolean,
): void {
  if (rows.every(isAsked)) return
  endSessions(sql)
  throw new SessionError(`The answer to another statement arrived. ${OWN_SESSIONS}`)
}
