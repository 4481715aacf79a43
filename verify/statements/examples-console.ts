// Examples of the statements of the console.
import * as consoleSessions from '../../src/db/operators/console-sessions.ts'
import * as paymentOverviews from '../../src/db/operators/lists/payment-overviews.ts'
import { listUnfinishedOperations } from '../../src/db/operators/unfinished-operations.ts'
import { example, type Example, ID, KEY, LIMIT, NOW, PAGE, PROVIDER } from './example.ts'

const HASH = Buffer.alloc(32)
const SESSION = { tokenHash: HASH, operator: 'alice', keyProof: HASH }
const LIMITS = { idleSeconds: 1_800, maxSeconds: 43_200 }

const ROW = { id: ID, payment: { tenant_id: ID, id: ID } }
const PENDING = { id: ID, job_id: ID }
const CANDIDATE = { tenantId: ID, id: ID }
const VALUES = { status: 'unknown', currency: 'usd', amountMinor: 1 } as const
const NAMES = { key: KEY, providerObject: { providers: [PROVIDER], id: 'pi_1' } }

export const consoleExamples: readonly Example[] = [
  example(consoleSessions.insertConsoleSession, [SESSION], [[{ created_at: NOW.toISOString() }]]),
  example(consoleSessions.findConsoleSession, [HASH, LIMITS]),
  example(consoleSessions.findOpenConsoleSessions, [[HASH], LIMITS]),
  example(consoleSessions.touchConsoleSession, [HASH]),
  example(consoleSessions.deleteConsoleSession, [HASH], [[{}]]),
  example(consoleSessions.deleteEndedConsoleSessions, [LIMITS]),
  example(listUnfinishedOperations, [LIMIT]),
  example(paymentOverviews.findPaymentOverview, [ID], [[ROW]]),
  example(
    paymentOverviews.listPaymentsOfTenants,
    [{ tenant: ID, stuck: true, ...VALUES, ...NAMES }, PAGE],
    [[PENDING], [CANDIDATE], [CANDIDATE], [ROW], [], [CANDIDATE], [ROW]],
  ),
  example(paymentOverviews.listPaymentsOfTenants, [{ tenant: ID, ...VALUES }, PAGE]),
]
