// Examples of the statements of the service itself: migrations, queues, retention and reconciliation.
import { SERVICE_ROLE } from '../../src/config.ts'
import { readMigrationState } from '../../src/db/migrations/applied-migrations.ts'
import { isDistributed } from '../../src/db/migrations/distribution.ts'
import { readOwnerRights } from '../../src/db/migrations/owner-rights.ts'
import { grantServiceRights } from '../../src/db/migrations/service-role.ts'
import * as deadLetters from '../../src/db/queue/dead-letters.ts'
import * as jobs from '../../src/db/queue/jobs.ts'
import { createTurnsIndex, fetchInTurn } from '../../src/db/queue/turns.ts'
import * as comparedRecords from '../../src/db/reconciliation/compared-records.ts'
import * as findings from '../../src/db/reconciliation/findings.ts'
import * as missingRecords from '../../src/db/reconciliation/missing-records.ts'
import * as reconciliationRuns from '../../src/db/reconciliation/reconciliation-runs.ts'
import * as erasedCustomers from '../../src/db/retention/erased-customers.ts'
import type { History } from '../../src/db/retention/stored-retention.ts'
import * as storedRetention from '../../src/db/retention/stored-retention.ts'
import { deleteOldProviderEvents } from '../../src/db/retention/old-provider-events.ts'
import type { Example } from './example.ts'
import { example, finding, ID, LIMIT, NOW, PAGE, PROVIDER, REF, run } from './example.ts'

const RESOLUTION = { by: 'alice', note: 'refunded by hand' }
const request = { ...run, requestedBy: 'alice' }
const MATCHED = [{ objectId: 'pi_1', named: REF }]
const TENANT_CUSTOMER = { tenantId: ID, provider: PROVIDER, customer: 'cus_1' }
const OLD = { before: NOW, limit: LIMIT }
const RUN = [[{ run: {} }]]
/** One tenant, and one page of its rows. */
const WALKED = [[{ id: ID }], [{ last_id: null, unseen: [] }]]

export const migrationExamples: readonly Example[] = [
  example(readMigrationState, []),
  example(readOwnerRights, [SERVICE_ROLE], [[{ user: 'owner' }]]),
  example(grantServiceRights, [SERVICE_ROLE]),
  example(isDistributed, []),
]

export const queueExamples: readonly Example[] = [
  example(jobs.addJobs, [jobs.PROVIDER_EVENTS_QUEUE, [{ data: {} }]]),
  example(
    deadLetters.listDeadLetters,
    [undefined, PAGE],
    [[{ id: ID, created_on: NOW.toISOString() }]],
  ),
  example(deadLetters.findOldestDeadLetters, [jobs.OPERATIONS_DEAD_LETTERS, LIMIT]),
  example(deadLetters.takeDeadLetterIfThere, [jobs.OPERATIONS_DEAD_LETTERS, ID]),
  example(
    deadLetters.requeueProviderEventUnlessApplied,
    [{ provider: PROVIDER, id: ID }, jobs.PROVIDER_EVENTS_QUEUE],
    [[{ tenantId: ID }]],
  ),
  example(deadLetters.requeueRunUnlessCompleted, [ID], [[{}]]),
  example(createTurnsIndex, []),
  example(fetchInTurn, [
    jobs.OPERATIONS_QUEUE,
    { after: { tenant: '', endpoint: '' }, places: 20, perLane: 20, fullLanes: [] },
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

export const retentionExamples: readonly Example[] = [
  ...(Object.keys(storedRetention.retentionSettings) as History[]).map((records) =>
    example(storedRetention.deleteOld, [records, OLD]),
  ),
  example(
    deleteOldProviderEvents,
    [OLD],
    [[{ provider: PROVIDER, id: ID, settledAt: NOW.toISOString() }]],
  ),
  example(storedRetention.storeRetention, [RETENTION]),
  example(storedRetention.findLongerRetention, [RETENTION]),
  example(erasedCustomers.releaseCustomer, [TENANT_CUSTOMER]),
  example(erasedCustomers.countOpenPayments, [TENANT_CUSTOMER]),
  example(erasedCustomers.eraseCustomer, [TENANT_CUSTOMER, 'ietf'], [[], [{ id: ID }], [], [], []]),
]

export const reconciliationExamples: readonly Example[] = [
  example(comparedRecords.findPaymentsOf, [PROVIDER, MATCHED]),
  example(comparedRecords.findRefundsOf, [PROVIDER, MATCHED]),
  example(comparedRecords.findDisputesOf, [PROVIDER, ['du_1']]),
  example(comparedRecords.findTenantsAmong, [[ID]]),
  example(findings.openFindings, [[finding]]),
  example(findings.findFinding, [ID]),
  example(findings.listFindings, [{ status: 'open', runId: ID }, PAGE]),
  example(findings.findOpenAmong, [[finding]]),
  example(findings.findReported, [run, ['pi_1']]),
  example(findings.resolveFindingByIdIfOpen, [ID, RESOLUTION]),
  example(reconciliationRuns.recordCompared, [ID, ['pi_1']]),
  example(reconciliationRuns.notComparedAmong, [ID, ['pi_1']]),
  example(reconciliationRuns.deleteProgress, [ID]),
  example(missingRecords.walkMissingPayments, [run], WALKED),
  example(missingRecords.walkMissingRefunds, [run], WALKED),
  example(missingRecords.tenantIds, [], [[{ id: ID }], []]),
  example(missingRecords.walkOpenDisputes, [run], [[{ id: ID }], []]),
  example(missingRecords.walkWaitingRefunds, [run], [[{ id: ID }], []]),
  example(missingRecords.walkMissingLedgerMovements, [run], WALKED),
  example(reconciliationRuns.requestReconciliation, [request], [[], ...RUN]),
  example(reconciliationRuns.insertRun, [request], RUN),
  example(reconciliationRuns.hasScheduledRun, [run]),
  example(reconciliationRuns.findRun, [ID]),
  example(reconciliationRuns.listRuns, [PAGE]),
  example(reconciliationRuns.beginRunUnlessCompleted, [ID]),
  example(reconciliationRuns.completeRunUnlessCompleted, [ID, {}]),
  example(reconciliationRuns.failRunIfRunning, [ID, {}, 'timeout']),
  example(reconciliationRuns.failAbandonedRuns, []),
  example(reconciliationRuns.findRunToForget, []),
]
