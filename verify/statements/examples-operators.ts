// Examples of the statements for operators: the audit trail, figures, and lists of all tenants.
import {
  appendAdminAction,
  findLastProposal,
  findLastResolution,
  listAdminActions,
  listOpenProposals,
  makeActionId,
} from '../../src/db/operators/admin-actions.ts'
import {
  countRecentOperations,
  listTakeovers,
  listWaitingTenants,
} from '../../src/db/operators/activity-figures.ts'
import {
  readProviderClock,
  recordClocksApart,
  recordFirstAccount,
} from '../../src/db/operators/provider-accounts.ts'
import { readWithinLimits, selectHealthFigures } from '../../src/db/operators/health-figures.ts'
import {
  countProposedOperations,
  findOperationOverview,
  listOperationOverviews,
  lockIfUnknown,
  readLastError,
} from '../../src/db/operators/lists/operation-overviews.ts'
import { findJobless, findQueued } from '../../src/db/operators/lists/operation-conditions.ts'
import { createOverviewReader } from '../../src/db/operators/overview.ts'
import {
  deleteProcess,
  listProcesses,
  recordProcess,
  tryWriting,
} from '../../src/db/operators/service-processes.ts'
import {
  findDeliveryOfTenants,
  findEndpointOfTenants,
  listDeliveriesOfTenants,
  listEndpointsOfTenants,
} from '../../src/db/operators/lists/webhook-overviews.ts'
import { example, type Example } from './example.ts'
import { ID, KEY, LIMIT, NOW, PAGE, PROVIDER, REF } from './example-values.ts'

const PROCESS = {
  id: ID,
  kind: 'worker',
  host: 'node-1',
  queues: ['payments'],
  version: '1.0.0',
  uptimeSeconds: 60,
  circuits: [{ kind: 'provider', state: 'closed', seconds: 60 }],
} as const

const PENDING = { id: ID, status: 'pending', job_id: ID }

const EPOCH = {
  tenant_id: ID,
  payment_id: ID,
  operation_id: ID,
  lease_epoch: 2,
  at: NOW.toISOString(),
}

const PROPOSAL = { operationId: ID, actor: 'alice', proposed: {}, proposedAt: NOW }

export const operatorExamples: readonly Example[] = [
  example(recordFirstAccount, (sql) => recordFirstAccount(sql, 'stripe', 'acct_1 live'), {
    answers: [[{ account: 'acct_1 live' }]],
  }),
  example(readProviderClock, (sql) => readProviderClock(sql, 'stripe'), {
    answers: [[{ nowMs: 0, atMs: null, seconds: null }]],
  }),
  example(recordClocksApart, (sql) => recordClocksApart(sql, 'stripe', 400)),
  example(appendAdminAction, (sql) =>
    appendAdminAction(sql, { actor: 'alice', action: 'tenant.create', subject: null, details: {} }),
  ),
  example(makeActionId, (sql) => makeActionId(sql), { answers: [[{ id: ID }]] }),
  example(listAdminActions, (sql) => listAdminActions(sql, { actor: 'alice', subject: ID }, PAGE)),
  example(findLastProposal, (sql) => findLastProposal(sql, ID, { proposed: {}, since: NOW })),
  example(listOpenProposals, (sql) => listOpenProposals(sql, NOW)),
  example(findLastResolution, (sql) => findLastResolution(sql, ID)),
  example(readWithinLimits, (sql) => readWithinLimits(sql, async () => undefined)),
  example(selectHealthFigures, (sql) => selectHealthFigures(sql)),
  example(createOverviewReader, (sql) => createOverviewReader(sql, () => 0)(), {
    answers: [[], [{ now: NOW.toISOString() }]],
  }),
  example(countRecentOperations, (sql) => countRecentOperations(sql, NOW)),
  example(listTakeovers, (sql) => listTakeovers(sql, NOW), { answers: [[EPOCH]] }),
  example(listWaitingTenants, (sql) => listWaitingTenants(sql)),
  example(recordProcess, (sql) => recordProcess(sql, PROCESS)),
  example(tryWriting, (sql) => tryWriting(sql, ID)),
  example(deleteProcess, (sql) => deleteProcess(sql, ID)),
  example(listProcesses, (sql) => listProcesses(sql)),
  example(listEndpointsOfTenants, (sql) => listEndpointsOfTenants(sql, { view: 'paused' }, PAGE)),
  example(listDeliveriesOfTenants, (sql) => {
    const filters = { endpointId: ID, eventId: ID, status: 'failed' } as const
    return listDeliveriesOfTenants(sql, { tenant: ID, ...filters }, PAGE)
  }),
  example(listDeliveriesOfTenants, (sql) =>
    listDeliveriesOfTenants(sql, { endpointId: ID }, { limit: LIMIT }),
  ),
  example(findEndpointOfTenants, (sql) => findEndpointOfTenants(sql, ID)),
  example(findDeliveryOfTenants, (sql) => findDeliveryOfTenants(sql, ID)),
  example(listOperationOverviews, (sql) => {
    const providerObject = { providers: [PROVIDER], id: 'pi_1' }
    const names = { payment: ID, key: KEY, providerObject }
    return listOperationOverviews(sql, { view: 'stuck', tenant: ID, ...names }, PAGE)
  }),
  example(listOperationOverviews, (sql) => listOperationOverviews(sql, { view: 'resolved' }, PAGE)),
  example(findJobless, (sql) => findJobless(sql), { answers: [[PENDING]] }),
  example(findQueued, (sql) => findQueued(sql, [ID])),
  example(countProposedOperations, (sql) => countProposedOperations(sql, [PROPOSAL])),
  example(findOperationOverview, (sql) => findOperationOverview(sql, ID), {
    answers: [[PENDING]],
  }),
  example(readLastError, (sql) => readLastError(sql, REF)),
  example(lockIfUnknown, (sql) => lockIfUnknown(sql, REF)),
]
