// Examples of the statements on tenants, their API keys, customers and webhooks.
import * as apiKeys from '../../src/db/tenants/api-keys.ts'
import { assignCustomers, listCustomers } from '../../src/db/tenants/provider-customers.ts'
import { createSharedCount } from '../../src/db/tenants/rate-limits.ts'
import * as tenants from '../../src/db/tenants/tenants.ts'
import { findTenantLimits } from '../../src/db/tenants/tenants.ts'
import { announceEndedKeys } from '../../src/db/connection/notifications.ts'
import * as writeEvents from '../../src/db/events/write-events.ts'
import * as webhookAttempts from '../../src/db/webhooks/webhook-attempts.ts'
import * as webhookDeliveries from '../../src/db/webhooks/webhook-deliveries.ts'
import * as webhookEndpoints from '../../src/db/webhooks/webhook-endpoints.ts'
import { EARLY_FRAUD_WARNING } from '../../src/domain/events/event-types.ts'
import { FAILURES_TO_OPEN } from '../../src/domain/webhooks/webhook-endpoint.ts'
import type { Example } from './example.ts'
import {
  apiKey,
  example,
  ID,
  LIMIT,
  newEndpoint,
  NOW,
  PAGE,
  PROVIDER,
  REF,
  SECRET,
  webhookJob,
  WITH_DELIVERY,
  WRITTEN,
  writtenEvent,
} from './example.ts'

const attempt = {
  id: ID,
  startedAt: NOW,
  latencyMs: 12,
  reply: { httpStatus: 500 },
  retryInSeconds: 5,
  failuresBefore: 0,
  disableAfterSeconds: 60,
}

const POSTPONED = { endpointId: ID, at: NOW.toISOString() }
const DELIVERY = { id: ID, endpointId: ID, attempts: 0, nextAttemptAt: NOW.toISOString() }

export const tenantExamples: readonly Example[] = [
  example(announceEndedKeys, []),
  example(apiKeys.authenticateKey, (_, store) => apiKeys.authenticateKey(store, SECRET)),
  example(apiKeys.insertApiKey, [{ tenantId: ID, secret: SECRET }], WRITTEN),
  example(apiKeys.findApiKey, [ID]),
  example(apiKeys.listApiKeys, [ID, PAGE]),
  example(apiKeys.rotateKeyIfActive, [apiKey, 60], [[{ retired: true }], [], [{}]]),
  example(apiKeys.revokeKeyIfNotRevoked, [ID], [[{ revoked: true }]]),
  example(createSharedCount, (sql) => createSharedCount(sql)('tenant', 1, 1_000), [
    [{ points: 1, expire: '1' }],
  ]),
  example(tenants.insertTenant, ['Shop'], WRITTEN),
  example(tenants.findTenant, [ID]),
  example(tenants.listTenants, [PAGE]),
  example(tenants.changeTenant, [ID, { key_length_min: 36 }], WRITTEN),
  example(findTenantLimits, [ID]),
  example(tenants.setTenantDisabled, [ID, true], WRITTEN),
  example(assignCustomers, [{ tenantId: ID, provider: PROVIDER, customers: ['cus_1'], from: ID }]),
  example(listCustomers, [{ tenantId: ID, provider: PROVIDER }, PAGE]),
]

export const webhookExamples: readonly Example[] = [
  example(writeEvents.findSubscribers, [ID]),
  example(writeEvents.findPaymentEvents, [ID, [ID], EARLY_FRAUD_WARNING]),
  example(
    writeEvents.insertEndpointEvent,
    [REF, 'webhook_endpoint.test'],
    [[{ id: ID }], [writtenEvent]],
  ),
  example(
    webhookEndpoints.judgeEndpoint,
    [REF, { ...attempt, verdict: 'failed' }],
    [[{ failures: FAILURES_TO_OPEN - 1, isFailing: false }]],
  ),
  example(webhookEndpoints.endPause, [REF]),
  example(webhookAttempts.findDueDelivery, [webhookJob]),
  example(
    webhookAttempts.recordAttemptIfDue,
    [webhookJob, { ...attempt, verdict: 'failed' }],
    [[DELIVERY], [], [{ failures: 0, isFailing: true }], [], [{ id: ID }], ...WITH_DELIVERY],
  ),
  example(
    webhookAttempts.recordAttemptIfDue,
    [webhookJob, { ...attempt, verdict: 'succeeded' }],
    [[DELIVERY]],
  ),
  example(webhookEndpoints.claimTestIfHalfOpen, [webhookJob, ID, 20]),
  example(webhookAttempts.postponeIfDue, [webhookJob, 15], [[POSTPONED], [DELIVERY]]),
  example(webhookAttempts.failIfDue, [webhookJob]),
  example(webhookDeliveries.findDelivery, [ID, ID]),
  example(webhookDeliveries.listDeliveries, (sql) => {
    const filters = { endpointId: ID, eventId: ID, eventIds: [ID], status: 'failed' } as const
    return webhookDeliveries.listDeliveries(sql, ID, filters, PAGE)
  }),
  example(webhookDeliveries.redeliverIfEnabled, [REF], [[DELIVERY]]),
  example(webhookDeliveries.replayFailedDeliveries, [REF, NOW, LIMIT], [[DELIVERY]]),
  example(webhookEndpoints.insertEndpoint, [newEndpoint], [[{ slot: 1 }], [{}]]),
  example(webhookEndpoints.findEndpoint, [ID, ID]),
  example(webhookEndpoints.listEndpoints, [ID, PAGE]),
  example(webhookEndpoints.insertTestEvent, [REF], [...WRITTEN, [], [{ id: ID }], [writtenEvent]]),
  example(webhookEndpoints.updateEndpoint, [REF, { disabled: true }]),
  example(webhookEndpoints.rotateSecret, [REF, 'whsec_1']),
  example(webhookEndpoints.deleteEndpoint, [REF]),
]
