// Examples of the statements of the console.
import {
  deleteConsoleSession,
  deleteEndedConsoleSessions,
  findConsoleSession,
  findOpenConsoleSessions,
  insertConsoleSession,
  touchConsoleSession,
} from '../../src/db/operators/console-sessions.ts'
import {
  findPaymentOverview,
  listPaymentsOfTenants,
} from '../../src/db/operators/lists/payment-overviews.ts'
import { listUnfinishedOperations } from '../../src/db/operators/unfinished-operations.ts'
import { example, type Example } from './example.ts'
import { ID, KEY, LIMIT, NOW, PAGE, PROVIDER } from './example-values.ts'

const HASH = Buffer.alloc(32)
const SESSION = { tokenHash: HASH, operator: 'alice', keyProof: HASH }
const LIMITS = { idleSeconds: 1_800, maxSeconds: 43_200 }

const ROW = { id: ID, payment: { tenant_id: ID, id: ID } }
const PENDING = { id: ID, job_id: ID }
const CANDIDATE = { tenantId: ID, id: ID }
const VALUES = { status: 'unknown', currency: 'usd', amountMinor: 1 } as const
const NAMES = { key: KEY, providerObject: { providers: [PROVIDER], id: 'pi_1' } }

export const consoleExamples: readonly Example[] = [
  example(insertConsoleSession, (sql) => insertConsoleSession(sql, SESSION), {
    answers: [[{ created_at: NOW.toISOString() }]],
  }),
  example(findConsoleSession, (sql) => findConsoleSession(sql, HASH, LIMITS)),
  example(findOpenConsoleSessions, (sql) => findOpenConsoleSessions(sql, [HASH], LIMITS)),
  example(touchConsoleSession, (sql) => touchConsoleSession(sql, HASH)),
  example(deleteConsoleSession, (sql) => deleteConsoleSession(sql, HASH), { answers: [[{}]] }),
  example(deleteEndedConsoleSessions, (sql) => deleteEndedConsoleSessions(sql, LIMITS)),
  example(listUnfinishedOperations, (sql) => listUnfinishedOperations(sql, LIMIT)),
  example(findPaymentOverview, (sql) => findPaymentOverview(sql, ID), { answers: [[ROW]] }),
  example(
    listPaymentsOfTenants,
    (sql) => listPaymentsOfTenants(sql, { tenant: ID, stuck: true, ...VALUES, ...NAMES }, PAGE),
    {
      answers: [[PENDING], [CANDIDATE], [CANDIDATE], [ROW], [], [CANDIDATE], [ROW]],
    },
  ),
  example(listPaymentsOfTenants, (sql) =>
    listPaymentsOfTenants(sql, { tenant: ID, ...VALUES }, PAGE),
  ),
]
