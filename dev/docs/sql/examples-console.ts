// Examples of the statements of the console.
import {
  deleteConsoleSession,
  deleteEndedConsoleSessions,
  findConsoleSession,
  findOpenConsoleSessions,
  insertConsoleSession,
  touchConsoleSession,
} from '../../../src/db/operators/console-sessions.ts'
import { listUnfinishedOperations } from '../../../src/db/operators/unfinished-operations.ts'
import { example, type Example } from './example.ts'
import { LIMIT, NOW } from './example-values.ts'

const HASH = Buffer.alloc(32)
const SESSION = { tokenHash: HASH, operator: 'alice', keyProof: HASH }
const LIMITS = { idleSeconds: 1_800, maxSeconds: 43_200 }

export const consoleExamples: readonly Example[] = [
  example(insertConsoleSession, (sql) => insertConsoleSession(sql, SESSION), {
    answers: [[{ created_at: NOW.toISOString() }]],
  }),
  example(findConsoleSession, (sql) => findConsoleSession(sql, HASH, LIMITS)),
  example(findOpenConsoleSessions, (sql) => findOpenConsoleSessions(sql, [HASH], LIMITS)),
  example(touchConsoleSession, (sql) => touchConsoleSession(sql, HASH)),
  example(deleteConsoleSession, (sql) => deleteConsoleSession(sql, HASH)),
  example(deleteEndedConsoleSessions, (sql) => deleteEndedConsoleSessions(sql, LIMITS)),
  example(listUnfinishedOperations, (sql) => listUnfinishedOperations(sql, LIMIT)),
]
