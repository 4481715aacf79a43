// Examples of the statements for operators: the audit trail, figures, and lists of all tenants.
import * as adminActions from '../../src/db/operators/admin-actions.ts'
import * as activityFigures from '../../src/db/operators/activity-figures.ts'
import * as providerAccounts from '../../src/db/operators/provider-accounts.ts'
import { readWithinLimits, selectHealthFigures } from '../../src/db/operators/health-figures.ts'
import * as operationOverviews from '../../src/db/operators/lists/operation-overviews.ts'
import { findJobless, findQueued } from '../../src/db/operators/lists/operation-conditions.ts'
import { createOverviewReader } from '../../src/db/operators/overview.ts'
import * as serviceProcesses from '../../src/db/operators/process-reporter.ts'
import * as webhookOverviews from '../../src/db/operators/lists/webhook-overviews.ts'
import { example, type Example, ID, KEY, LIMIT, NOW, PAGE, PROVIDER, REF } from './example.ts'

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
  example(adminActions.listAdminActions, [{ actor: 'alice', subject: ID }, PAGE]),
  example(adminActions.findLastProposal, [ID, { proposed: {}, since: NOW }]),
  example(adminActions.listOpenProposals, [NOW]),
  example(adminActions.findLastResolution, [ID]),
  example(readWithinLimits, [async () => undefined]),
  example(selectHealthFigures, []),
  example(createOverviewReader, (sql) => createOverviewReader(sql, () => 0)(), [
    [],
    [{ now: NOW.toISOString() }],
  ]),
  example(activityFigures.countRecentOperations, [NOW]),
  example(activityFigures.listTakeovers, [NOW], [[EPOCH]]),
  example(activityFigures.listWaitingTenants, []),
  example(serviceProcesses.recordProcess, [PROCESS]),
  example(serviceProcesses.tryWriting, [ID]),
  example(serviceProcesses.deleteProcess, [ID]),
  example(serviceProcesses.listProcesses, []),
  example(webhookOverviews.listEndpointsOfTenants, [{ view: 'paused' }, PAGE]),
  example(webhookOverviews.listDeliveriesOfTenants, (sql) => {
    const filters = { endpointId: ID, eventId: ID, status: 'failed' } as const
    return webhookOverviews.listDeliveriesOfTenants(sql, { tenant: ID, ...filters }, PAGE)
  }),
  example(webhookOverviews.listDeliveriesOfTenants, [{ endpointId: ID }, { limit: LIMIT }]),
  example(webhookOverviews.findEndpointOfTenants, [ID]),
  example(webhookOverviews.findDeliveryOfTenants, [ID]),
  example(operationOverviews.listOperationOverviews, (sql) => {
    const providerObject = { providers: [PROVIDER], id: 'pi_1' }
    const names = { payment: ID, key: KEY, providerObject }
    return operationOverviews.listOperationOverviews(
      sql,
      { view: 'stuck', tenant: ID, ...names },
      PAGE,
    )
  }),
  example(operationOverviews.listOperationOverviews, [{ view: 'resolved' }, PAGE]),
  example(findJobless, [], [[PENDING]]),
  example(findQueued, [[ID]]),
  example(operationOverviews.countProposedOperations, [[PROPOSAL]]),
  example(operationOverviews.findOperationOverview, [ID], [[PENDING]]),
  example(operationOverviews.lockIfUnknown, [REF]),
]
