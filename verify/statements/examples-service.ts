// Examples of the statements of the service itself: migrations, queues, retention and reconciliation.
import { SERVICE_ROLE } from '../../src/config.ts'
import { readMigrationState } from '../../src/db/migrations/applied-migrations.ts'
import { isDistributed } from '../../src/db/migrations/distributed.ts'
import { readOwnerRights } from '../../src/db/migrations/owner-rights.ts'
import { grantServiceRights } from '../../src/db/migrations/service-role.ts'
import {
  findOldestDeadLetters,
  listDeadLetters,
  requeueProviderEventUnlessApplied,
  requeueRunUnlessCompleted,
  takeDeadLetterIfThere,
} from '../../src/db/queue/dead-letters.ts'
import {
  OPERATIONS_DEAD_LETTERS,
  OPERATIONS_QUEUE,
  PROVIDER_EVENTS_QUEUE,
} from '../../src/db/queue/queues.ts'
import { addJobs } from '../../src/db/queue/jobs.ts'
import { createTurnsIndex, fetchInTurn, forbidRetries } from '../../src/db/queue/turns.ts'
import {
  findPaymentsOf,
  findDisputesOf,
  findRefundsOf,
  findTenantsAmong,
} from '../../src/db/reconciliation/compared-payments.ts'
import {
  findFinding,
  listFindings,
  openFindings,
  resolveFindingByIdIfOpen,
} from '../../src/db/reconciliation/findings.ts'
import {
  deleteProgress,
  notComparedAmong,
  recordCompared,
} from '../../src/db/reconciliation/reconciliation-progress.ts'
import {
  tenantIds,
  walkMissingLedgerMovements,
  walkMissingPayments,
  walkMissingRefunds,
} from '../../src/db/reconciliation/missing-records.ts'
import { findOpenAmong, findReported } from '../../src/db/reconciliation/reported-findings.ts'
import {
  beginRunUnlessCompleted,
  completeRunUnlessCompleted,
  failAbandonedRuns,
  failRunIfRunning,
  findRun,
  findRunToForget,
  hasScheduledRun,
  insertRun,
  listRuns,
  requestReconciliation,
} from '../../src/db/reconciliation/reconciliation-runs.ts'
import {
  walkOpenDisputes,
  walkWaitingRefunds,
} from '../../src/db/reconciliation/waiting-records.ts'
import {
  countOpenPayments,
  eraseCustomer,
  releaseCustomer,
} from '../../src/db/retention/erased-customers.ts'
import {
  deleteOldAdminActions,
  deleteOldDeliveries,
  deleteOldEvents,
  deleteOldPaymentDetails,
  deleteOldPhaseRuns,
} from '../../src/db/retention/old-records.ts'
import { findLongerRetention, storeRetention } from '../../src/db/retention/stored-retention.ts'
import { deleteOldProviderEvents } from '../../src/db/retention/old-provider-events.ts'
import { example, type Example } from './example.ts'
import { finding, ID, LIMIT, NOW, PAGE, PROVIDER, REF, run } from './example-values.ts'

const RESOLUTION = { by: 'alice', note: 'refunded by hand' }
const request = { ...run, requestedBy: 'alice' }
const MATCHED = [{ objectId: 'pi_1', named: REF }]
const TENANT_CUSTOMER = { tenantId: ID, provider: PROVIDER, customer: 'cus_1' }
const OLD = { before: NOW, limit: LIMIT }
const RUN = { answers: [[{ run: {} }]] }
/** One tenant, and one page of its rows. */
const WALKED = {
  answers: [[{ id: ID }], [{ last_id: null, unseen: [] }]],
}

export const migrationExamples: readonly Example[] = [
  example(readMigrationState, (sql) => readMigrationState(sql)),
  example(readOwnerRights, (sql) => readOwnerRights(sql, SERVICE_ROLE), {
    answers: [[{ user: 'owner' }]],
  }),
  example(grantServiceRights, (sql) => grantServiceRights(sql, SERVICE_ROLE)),
  example(isDistributed, (sql) => isDistributed(sql)),
]

export const queueExamples: readonly Example[] = [
  example(addJobs, (sql) => addJobs(sql, PROVIDER_EVENTS_QUEUE, [{ data: {} }])),
  example(listDeadLetters, (sql) => listDeadLetters(sql, undefined, PAGE), {
    answers: [[{ id: ID, created_on: NOW.toISOString() }]],
  }),
  example(findOldestDeadLetters, (sql) =>
    findOldestDeadLetters(sql, OPERATIONS_DEAD_LETTERS, LIMIT),
  ),
  example(takeDeadLetterIfThere, (sql) => takeDeadLetterIfThere(sql, OPERATIONS_DEAD_LETTERS, ID)),
  example(
    requeueProviderEventUnlessApplied,
    (sql) =>
      requeueProviderEventUnlessApplied(sql, { provider: PROVIDER, id: ID }, PROVIDER_EVENTS_QUEUE),
    { answers: [[{ tenantId: ID }]] },
  ),
  example(requeueRunUnlessCompleted, (sql) => requeueRunUnlessCompleted(sql, ID), {
    answers: [[{}]],
  }),
  example(createTurnsIndex, (sql) => createTurnsIndex(sql)),
  example(fetchInTurn, (sql) =>
    fetchInTurn(sql, OPERATIONS_QUEUE, {
      after: '',
      freePlaces: 20,
      reservedPlaces: 4,
      busyTenants: [],
      busyLanes: [],
      fullLanes: [],
      perLane: 20,
    }),
  ),
  example(forbidRetries, (sql) => forbidRetries(sql, OPERATIONS_QUEUE, [{ id: ID }])),
]

const RETENTION = {
  DELIVERY_RETENTION_DAYS: 30,
  TIMELINE_RETENTION_DAYS: 180,
  EVENT_RETENTION_DAYS: 0,
  AUDIT_RETENTION_DAYS: 0,
  PAYMENT_RETENTION_DAYS: 0,
}

export const retentionExamples: readonly Example[] = [
  example(deleteOldDeliveries, (sql) => deleteOldDeliveries(sql, OLD)),
  example(deleteOldPhaseRuns, (sql) => deleteOldPhaseRuns(sql, OLD)),
  example(deleteOldEvents, (sql) => deleteOldEvents(sql, OLD)),
  example(deleteOldAdminActions, (sql) => deleteOldAdminActions(sql, OLD)),
  example(deleteOldPaymentDetails, (sql) => deleteOldPaymentDetails(sql, OLD)),
  example(deleteOldProviderEvents, (sql) => deleteOldProviderEvents(sql, OLD), {
    answers: [[{ provider: PROVIDER, id: ID, settledAt: NOW.toISOString() }]],
  }),
  example(storeRetention, (sql) => storeRetention(sql, RETENTION)),
  example(findLongerRetention, (sql) => findLongerRetention(sql, RETENTION)),
  example(releaseCustomer, (sql) => releaseCustomer(sql, TENANT_CUSTOMER)),
  example(countOpenPayments, (sql) => countOpenPayments(sql, TENANT_CUSTOMER)),
  example(eraseCustomer, (sql) => eraseCustomer(sql, TENANT_CUSTOMER, 'ietf'), {
    answers: [[], [{ id: ID }], [], [], []],
  }),
]

export const reconciliationExamples: readonly Example[] = [
  example(findPaymentsOf, (sql) => findPaymentsOf(sql, PROVIDER, MATCHED)),
  example(findRefundsOf, (sql) => findRefundsOf(sql, PROVIDER, MATCHED)),
  example(findDisputesOf, (sql) => findDisputesOf(sql, PROVIDER, ['du_1'])),
  example(findTenantsAmong, (sql) => findTenantsAmong(sql, [ID])),
  example(openFindings, (sql) => openFindings(sql, [finding])),
  example(findFinding, (sql) => findFinding(sql, ID)),
  example(listFindings, (sql) => listFindings(sql, { status: 'open', runId: ID }, PAGE)),
  example(findOpenAmong, (sql) => findOpenAmong(sql, [finding])),
  example(findReported, (sql) => findReported(sql, run, ['pi_1'])),
  example(resolveFindingByIdIfOpen, (sql) => resolveFindingByIdIfOpen(sql, ID, RESOLUTION)),
  example(recordCompared, (sql) => recordCompared(sql, ID, ['pi_1'])),
  example(notComparedAmong, (sql) => notComparedAmong(sql, ID, ['pi_1'])),
  example(deleteProgress, (sql) => deleteProgress(sql, ID)),
  example(walkMissingPayments, (sql) => walkMissingPayments(sql, run), WALKED),
  example(walkMissingRefunds, (sql) => walkMissingRefunds(sql, run), WALKED),
  example(tenantIds, (sql) => tenantIds(sql), { answers: [[{ id: ID }], []] }),
  example(walkOpenDisputes, (sql) => walkOpenDisputes(sql, run), {
    ...WALKED,
    answers: [[{ id: ID }], []],
  }),
  example(walkWaitingRefunds, (sql) => walkWaitingRefunds(sql, run), {
    ...WALKED,
    answers: [[{ id: ID }], []],
  }),
  example(walkMissingLedgerMovements, (sql) => walkMissingLedgerMovements(sql, run), WALKED),
  example(requestReconciliation, (sql) => requestReconciliation(sql, request), {
    answers: [[], ...(RUN.answers ?? [])],
  }),
  example(insertRun, (sql) => insertRun(sql, request), RUN),
  example(hasScheduledRun, (sql) => hasScheduledRun(sql, run)),
  example(findRun, (sql) => findRun(sql, ID)),
  example(listRuns, (sql) => listRuns(sql, PAGE)),
  example(beginRunUnlessCompleted, (sql) => beginRunUnlessCompleted(sql, ID)),
  example(completeRunUnlessCompleted, (sql) => completeRunUnlessCompleted(sql, ID, {})),
  example(failRunIfRunning, (sql) => failRunIfRunning(sql, ID, {}, 'timeout')),
  example(failAbandonedRuns, (sql) => failAbandonedRuns(sql)),
  example(findRunToForget, (sql) => findRunToForget(sql)),
]
