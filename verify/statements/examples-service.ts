// Examples of the statements of the service itself and of its operators: connections, the console, the
// audit trail, figures, lists of all tenants, migrations, queues, retention and reconciliation.
import type { Sql } from '../../src/db/connection/client.ts'
import { createIdleAnnouncer, createJobWaker } from '../../src/db/connection/notifications.ts'
import { findIn, hasEntry, readPage } from '../../src/db/connection/pages.ts'
import { readServer } from '../../src/db/connection/server/server.ts'
import { allowLongStatements } from '../../src/db/connection/transaction.ts'
import { endStalledSessions } from '../../src/recovery/stalled-sessions.ts'
import { readDatabaseFacts } from '../../src/migrations/database-facts.ts'
import * as authenticateSession from '../../src/http/console/authenticate-session.ts'
import { findOpenSessions, listUnfinishedOperations } from '../../src/http/console/live-feed.ts'
import { recordLogIn, recordLogOut } from '../../src/http/console/sessions.ts'
import * as paymentsSearch from '../../src/http/operators/payments-search.ts'
import * as adminActions from '../../src/db/operators/admin-actions.ts'
import * as overviewFigures from '../../src/http/operators/overview-figures.ts'
import * as providerAccounts from '../../src/db/operators/provider-accounts.ts'
import { readWithinLimits, selectHealthFigures } from '../../src/metrics/store-gauges.ts'
import * as operationsSearch from '../../src/http/operators/operations-search.ts'
import * as processReporter from '../../src/start/process-reporter.ts'
import * as claims from '../../src/http/operators/claims.ts'
import { lockIfUnknown } from '../../src/http/operators/resolutions.ts'
import { tryWriting } from '../../src/http/service/health.ts'
import { SERVICE_ROLE } from '../../src/config.ts'
import { readMigrationState } from '../../src/migrations/applied-migrations.ts'
import { isDistributed } from '../../src/migrations/distribution.ts'
import { readOwnerRights, grantServiceRights } from '../../src/migrations/service-role.ts'
import * as deadLetters from '../../src/recovery/dead-letters.ts'
import * as jobs from '../../src/db/queue/jobs.ts'
import { createFairFetchIndex, fetchFairly } from '../../src/db/queue/fair-fetch.ts'
import * as findings from '../../src/db/operations/findings.ts'
import * as erased from '../../src/start/tenants/erase-customer.ts'
import { storeRetention } from '../../src/migrations/migrate.ts'
import { historySettings, type History } from '../../src/retention-settings.ts'
import { deleteOld, deleteOldProviderEvents } from '../../src/recovery/prune.ts'
import { checkRetention } from '../../src/start/doctor/database.ts'
import { resolveFindingIfOpen } from '../../src/http/operators/reconciliations.ts'
import * as carryOutRun from '../../src/reconciliation/carry-out-run.ts'
import { disputeRecords, refundRecords } from '../../src/reconciliation/record-kinds.ts'
import * as comparedObjects from '../../src/reconciliation/compared-objects.ts'
import * as comparison from '../../src/reconciliation/comparison.ts'
import type { RecordKind } from '../../src/reconciliation/judge-record.ts'
import * as ourRecords from '../../src/reconciliation/our-records.ts'
import * as runs from '../../src/reconciliation/runs.ts'
import type { Run } from '../../src/reconciliation/runs.ts'
import type { Example } from './example.ts'
import { example, finding, ID, KEY, LIMIT, NOW, PAGE, PROVIDER, REF, run } from './example.ts'

function fail(error: unknown): void {
  throw error
}

const connectionExamples: readonly Example[] = [
  example(createJobWaker, (sql) => createJobWaker(sql, fail)()),
  example(createIdleAnnouncer, (sql) => createIdleAnnouncer(sql, fail)(ID)),
  example(readPage, (sql) => {
    const entries = sql`from payments where true`
    return readPage(sql, { columns: sql`id`, entries, fromRow: Object }, PAGE)
  }),
  example(hasEntry, (sql) => hasEntry(sql, sql`from payments where true`, ID)),
  example(findIn, [ID, { table: 'payments' }, { id: ID }]),
  example(allowLongStatements, []),
  example(endStalledSessions, [60_000]),
  example(readDatabaseFacts, [], [[{ version: '18' }]]),
  example(readServer, [], [[{ cluster: '1' }]]),
]

const HASH = Buffer.alloc(32)
const OPERATOR = { name: 'alice', role: 'operator', key: KEY } as const
const IDLE_SECONDS = 1_800

const ROW = { id: ID, payment: { tenant_id: ID, id: ID } }
const WAITING = { id: ID, job_id: ID }
const CANDIDATE = { tenantId: ID, id: ID }
const VALUES = { status: 'unknown', currency: 'usd', amountMinor: 1 } as const
const NAMES = { key: KEY, providerId: 'pi_1' }

const consoleExamples: readonly Example[] = [
  example(
    recordLogIn,
    [IDLE_SECONDS, HASH, OPERATOR],
    [[], [], [{ created_at: NOW.toISOString() }]],
  ),
  example(recordLogOut, [{ operator: OPERATOR, tokenHash: HASH }], [[{}]]),
  example(authenticateSession.findConsoleSession, [HASH, IDLE_SECONDS]),
  example(authenticateSession.touchSession, [HASH]),
  example(findOpenSessions, [[HASH], IDLE_SECONDS]),
  example(listUnfinishedOperations, [LIMIT]),
  example(paymentsSearch.findPaymentOverview, [ID], [[ROW]]),
  example(
    paymentsSearch.listPaymentsOfTenants,
    [{ tenant: ID, stuck: true, ...VALUES, ...NAMES }, PAGE],
    [[WAITING], [CANDIDATE], [CANDIDATE], [ROW], [], [CANDIDATE], [ROW]],
  ),
  example(paymentsSearch.listPaymentsOfTenants, [{ tenant: ID, ...VALUES }, PAGE]),
]

const PROCESS = {
  id: ID,
  kind: 'worker',
  host: 'node-1',
  queues: ['payments'],
  version: '1.0.0',
} as const
const CIRCUITS = [{ kind: 'provider', state: 'closed', seconds: 60 }] as const

const PENDING = { id: ID, status: 'pending', job_id: ID }

const EPOCH = {
  tenant_id: ID,
  payment_id: ID,
  operation_id: ID,
  lease_epoch: 2,
  at: NOW.toISOString(),
}

const HAPPENED = { outcome: 'happened' } as const
const PROPOSAL = { operationId: ID, actor: 'alice', proposed: HAPPENED, proposedAt: NOW }

const operatorExamples: readonly Example[] = [
  example(
    providerAccounts.recordFirstAccount,
    ['stripe', 'acct_1 live'],
    [[{ account: 'acct_1 live' }]],
  ),
  example(
    providerAccounts.readProviderClock,
    ['stripe'],
    [[{ nowMs: 0, atMs: null, seconds: null }]],
  ),
  example(providerAccounts.recordClocksApart, ['stripe', 400]),
  example(adminActions.appendAdminAction, [
    { actor: 'alice', action: 'tenant.create', subject: null, details: {} },
  ]),
  example(adminActions.makeActionId, [], [[{ id: ID }]]),
  example(claims.findProposer, [ID, HAPPENED, NOW]),
  example(claims.listOpenProposals, [NOW]),
  example(claims.findLastResolution, [ID]),
  example(readWithinLimits, [async () => undefined]),
  example(selectHealthFigures, []),
  example(
    overviewFigures.createOverviewReader,
    (sql) => overviewFigures.createOverviewReader(sql, () => 0)(),
    [[], [{ now: NOW.toISOString() }]],
  ),
  example(overviewFigures.countRecentOperations, [NOW]),
  example(overviewFigures.readTakeovers, [NOW], [[EPOCH]]),
  example(overviewFigures.listWaitingTenants, []),
  example(processReporter.recordProcess, [PROCESS, 60, CIRCUITS]),
  example(tryWriting, []),
  example(processReporter.deleteProcess, [ID]),
  example(overviewFigures.listProcesses, []),
  example(operationsSearch.listOperationOverviews, [
    { view: 'stuck', tenant: ID, payment: ID, ...NAMES },
    PAGE,
  ]),
  example(operationsSearch.listOperationOverviews, [{ view: 'resolved' }, PAGE]),
  example(operationsSearch.findJobless, [], [[PENDING]]),
  example(operationsSearch.countProposedOperations, [[PROPOSAL]]),
  example(operationsSearch.findOperationOverview, [ID], [[PENDING]]),
  example(lockIfUnknown, [REF]),
]

const request = { ...run, requestedBy: 'alice' }
const MATCHED = [{ objectId: 'pi_1', ...REF }]
const TENANT_CUSTOMER = { tenantId: ID, provider: PROVIDER, customer: 'cus_1' }
const OLD = { before: NOW, limit: LIMIT }
const RUN = [[{ run: {} }]]
/** One tenant, and one page of its rows. */
const WALKED = [[{ id: ID }], [{ last_id: null, unseen: [] }]]

const migrationExamples: readonly Example[] = [
  example(readMigrationState, []),
  example(readOwnerRights, [SERVICE_ROLE], [[{ user: 'owner' }]]),
  example(grantServiceRights, [SERVICE_ROLE]),
  example(isDistributed, []),
]

const queueExamples: readonly Example[] = [
  example(jobs.findQueued, [[ID]]),
  example(jobs.addJobs, [jobs.PROVIDER_EVENTS_QUEUE, [{ data: {} }]]),
  example(
    deadLetters.listDeadLetters,
    [undefined, PAGE],
    [[{ id: ID, created_on: NOW.toISOString() }]],
  ),
  example(deadLetters.takeDeadLetter, [jobs.OPERATIONS_DEAD_LETTERS, ID], [[{}]]),
  example(
    deadLetters.requeueProviderEventUnlessApplied,
    [{ provider: PROVIDER, id: ID }, jobs.PROVIDER_EVENTS_QUEUE],
    [[{ tenantId: ID }]],
  ),
  example(deadLetters.requeueRunUnlessCompleted, [ID], [[{}]]),
  example(createFairFetchIndex, []),
  example(fetchFairly, [
    jobs.OPERATIONS_QUEUE,
    { after: { tenant: '', endpoint: '' }, slots: 20, perGroup: 20, fullGroups: [] },
  ]),
  example(jobs.forbidRetries, [jobs.OPERATIONS_QUEUE, [{ id: ID }]]),
]

const RETENTION = {
  DELIVERY_RETENTION_DAYS: 30,
  TIMELINE_RETENTION_DAYS: 180,
  EVENT_RETENTION_DAYS: 0,
  AUDIT_RETENTION_DAYS: 0,
  PAYMENT_RETENTION_DAYS: 0,
}

const retentionExamples: readonly Example[] = [
  ...(Object.keys(historySettings) as History[]).map((records) =>
    example(deleteOld, [records, OLD]),
  ),
  example(
    deleteOldProviderEvents,
    [OLD],
    [[{ provider: PROVIDER, id: ID, settledAt: NOW.toISOString() }]],
  ),
  example(storeRetention, [RETENTION]),
  example(checkRetention, [RETENTION]),
  example(erased.releaseCustomer, [TENANT_CUSTOMER]),
  example(erased.countOpenPayments, [TENANT_CUSTOMER]),
  example(erased.eraseCustomer, [TENANT_CUSTOMER, 'ietf'], [[{ id: ID }]]),
]

function walkWaiting(sql: Sql, kind: Pick<RecordKind, 'table' | 'isWaiting'>) {
  const isWaiting = kind.isWaiting?.(sql, run as Run) ?? sql``
  return ourRecords.walkWaiting(sql, run, kind.table, isWaiting)
}

const reconciliationExamples: readonly Example[] = [
  example(findings.openFindings, [[finding]]),
  example(resolveFindingIfOpen, [ID, 'alice', 'refunded by hand']),
  example(comparison.findOpenAmong, [[finding]]),
  example(comparedObjects.findReported, [run, ['pi_1']]),
  example(comparedObjects.recordCompared, [ID, ['pi_1']]),
  example(comparedObjects.notComparedAmong, [ID, ['pi_1']]),
  example(comparedObjects.deleteProgress, [ID]),
  example(ourRecords.findRecords, ['payments', PROVIDER, MATCHED]),
  example(ourRecords.findRecords, ['refunds', PROVIDER, MATCHED]),
  example(ourRecords.findRecords, ['disputes', PROVIDER, MATCHED]),
  example(ourRecords.findLedgerMovements, [PROVIDER, 'capture', MATCHED]),
  example(ourRecords.findLedgerMovements, [PROVIDER, 'refund', MATCHED]),
  example(ourRecords.findLedgerMovements, [PROVIDER, 'dispute', MATCHED]),
  example(ourRecords.walkMissingRecords, [run, 'payments'], WALKED),
  example(ourRecords.walkMissingRecords, [run, 'refunds'], WALKED),
  example(ourRecords.walkMissingMovements, [run], WALKED),
  example(ourRecords.walkWaiting, (sql) => walkWaiting(sql, refundRecords), [[{ id: ID }], []]),
  example(ourRecords.walkWaiting, (sql) => walkWaiting(sql, disputeRecords), [[{ id: ID }], []]),
  example(runs.requestReconciliation, [request], [[], ...RUN]),
  example(runs.insertRun, [request], RUN),
  example(runs.hasScheduledRun, [run]),
  example(runs.findRun, [ID]),
  example(runs.listRuns, [PAGE]),
  example(carryOutRun.beginRunUnlessCompleted, [ID]),
  example(carryOutRun.endRunUnlessCompleted, [ID, {}, 'timeout']),
  example(carryOutRun.tidyUp, [], [[], [{ id: ID }]]),
]

export const serviceExamples: readonly Example[] = [
  ...connectionExamples,
  ...consoleExamples,
  ...operatorExamples,
  ...migrationExamples,
  ...queueExamples,
  ...retentionExamples,
  ...reconciliationExamples,
]
