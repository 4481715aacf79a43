// Examples of the statements on tenants, their API keys, customers and webhooks.
import {
  authenticateKey,
  findApiKey,
  insertApiKey,
  listApiKeys,
  revokeKeyIfNotRevoked,
  rotateKeyIfActive,
} from '../../src/db/tenants/api-keys.ts'
import { assignCustomers, listCustomers } from '../../src/db/tenants/provider-customers.ts'
import { createSharedCount } from '../../src/db/tenants/rate-limits.ts'
import {
  findTenant,
  insertTenant,
  listTenants,
  setTenantDisabled,
  setProviders,
  setRequiresReference,
  setTenantFees,
} from '../../src/db/tenants/tenants.ts'
import { announceEndedKeys } from '../../src/db/connection/notifications.ts'
import {
  findPaymentEvents,
  findSubscribers,
  insertEndpointEvent,
} from '../../src/db/events/write-events.ts'
import {
  claimTestIfHalfOpen,
  endPause,
  judgeEndpoint,
} from '../../src/db/webhooks/endpoint-health.ts'
import {
  failIfDue,
  findDueDelivery,
  postponeIfDue,
  recordAttemptIfDue,
} from '../../src/db/webhooks/webhook-attempts.ts'
import {
  findDelivery,
  listDeliveries,
  redeliverIfEnabled,
  replayFailedDeliveries,
} from '../../src/db/webhooks/webhook-deliveries.ts'
import {
  deleteEndpoint,
  findEndpoint,
  insertEndpoint,
  insertTestEvent,
  listEndpoints,
  rotateSecret,
  updateEndpoint,
} from '../../src/db/webhooks/webhook-endpoints.ts'
import {
  changeTenantLimits,
  findTenantLimits,
  setKeyLengthMin,
} from '../../src/db/tenants/tenant-limits.ts'
import { EARLY_FRAUD_WARNING } from '../../src/domain/events/event-types.ts'
import { FAILURES_TO_OPEN } from '../../src/domain/webhooks/endpoint-circuit.ts'
import { example, type Example, WITH_DELIVERY, WRITTEN } from './example.ts'
import {
  apiKey,
  ID,
  LIMIT,
  newEndpoint,
  NOW,
  PAGE,
  PROVIDER,
  REF,
  SECRET,
  webhookJob,
  writtenEvent,
} from './example-values.ts'

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
  example(announceEndedKeys, (sql) => announceEndedKeys(sql)),
  example(authenticateKey, (_, store) => authenticateKey(store, SECRET)),
  example(insertApiKey, (sql) => insertApiKey(sql, { tenantId: ID, secret: SECRET }), {
    answers: WRITTEN,
  }),
  example(findApiKey, (sql) => findApiKey(sql, ID)),
  example(listApiKeys, (sql) => listApiKeys(sql, ID, PAGE)),
  example(rotateKeyIfActive, (sql) => rotateKeyIfActive(sql, apiKey, 60), {
    answers: [[{ retired: true }], [], [{}]],
  }),
  example(revokeKeyIfNotRevoked, (sql) => revokeKeyIfNotRevoked(sql, ID), {
    answers: [[{ revoked: true }]],
  }),
  example(createSharedCount, (sql) => createSharedCount(sql)('tenant', 1, 1_000), {
    answers: [[{ points: 1, expire: '1' }]],
  }),
  example(insertTenant, (sql) => insertTenant(sql, 'Shop'), { answers: WRITTEN }),
  example(findTenant, (sql) => findTenant(sql, ID)),
  example(listTenants, (sql) => listTenants(sql, PAGE)),
  example(setRequiresReference, (sql) => setRequiresReference(sql, ID, true), {
    answers: WRITTEN,
  }),
  example(setProviders, (sql) => setProviders(sql, ID, [{ provider: PROVIDER }]), {
    answers: WRITTEN,
  }),
  example(setTenantFees, (sql) => setTenantFees(sql, ID, { basisPoints: 290, fixedMinor: 30 })),
  example(findTenantLimits, (sql) => findTenantLimits(sql, ID)),
  example(changeTenantLimits, (sql) => changeTenantLimits(sql, ID, { MAX_ACTIVE_KEYS: 5 }), {
    answers: WRITTEN,
  }),
  example(setKeyLengthMin, (sql) => setKeyLengthMin(sql, ID, 36), { answers: WRITTEN }),
  example(setTenantDisabled, (sql) => setTenantDisabled(sql, ID, true), {
    answers: WRITTEN,
  }),
  example(assignCustomers, (sql) =>
    assignCustomers(sql, { tenantId: ID, provider: PROVIDER, customers: ['cus_1'], from: ID }),
  ),
  example(listCustomers, (sql) => listCustomers(sql, { tenantId: ID, provider: PROVIDER }, PAGE)),
]

export const webhookExamples: readonly Example[] = [
  example(findSubscribers, (sql) => findSubscribers(sql, ID)),
  example(findPaymentEvents, (sql) => findPaymentEvents(sql, ID, [ID], EARLY_FRAUD_WARNING)),
  example(insertEndpointEvent, (sql) => insertEndpointEvent(sql, REF, 'webhook_endpoint.test'), {
    answers: [[{ id: ID }], [writtenEvent]],
  }),
  example(judgeEndpoint, (sql) => judgeEndpoint(sql, REF, { ...attempt, verdict: 'failed' }), {
    answers: [[{ failures: FAILURES_TO_OPEN - 1, isFailing: false }]],
  }),
  example(endPause, (sql) => endPause(sql, REF)),
  example(findDueDelivery, (sql) => findDueDelivery(sql, webhookJob)),
  example(
    recordAttemptIfDue,
    (sql) => recordAttemptIfDue(sql, webhookJob, { ...attempt, verdict: 'failed' }),
    {
      answers: [
        [DELIVERY],
        [],
        [{ failures: 0, isFailing: true }],
        [],
        [{ id: ID }],
        ...WITH_DELIVERY,
      ],
    },
  ),
  example(
    recordAttemptIfDue,
    (sql) => recordAttemptIfDue(sql, webhookJob, { ...attempt, verdict: 'succeeded' }),
    { answers: [[DELIVERY]] },
  ),
  example(claimTestIfHalfOpen, (sql) => claimTestIfHalfOpen(sql, webhookJob, ID, 20)),
  example(postponeIfDue, (sql) => postponeIfDue(sql, webhookJob, 15), {
    answers: [[POSTPONED], [DELIVERY]],
  }),
  example(failIfDue, (sql) => failIfDue(sql, webhookJob)),
  example(findDelivery, (sql) => findDelivery(sql, ID, ID)),
  example(listDeliveries, (sql) => {
    const filters = { endpointId: ID, eventId: ID, eventIds: [ID], status: 'failed' } as const
    return listDeliveries(sql, ID, filters, PAGE)
  }),
  example(redeliverIfEnabled, (sql) => redeliverIfEnabled(sql, REF), { answers: [[DELIVERY]] }),
  example(replayFailedDeliveries, (sql) => replayFailedDeliveries(sql, REF, NOW, LIMIT), {
    answers: [[DELIVERY]],
  }),
  example(insertEndpoint, (sql) => insertEndpoint(sql, newEndpoint), {
    answers: [[{ slot: 1 }], [{}]],
  }),
  example(findEndpoint, (sql) => findEndpoint(sql, ID, ID)),
  example(listEndpoints, (sql) => listEndpoints(sql, ID, PAGE)),
  example(insertTestEvent, (sql) => insertTestEvent(sql, REF), {
    answers: [...WRITTEN, [], [{ id: ID }], [writtenEvent]],
  }),
  example(updateEndpoint, (sql) => updateEndpoint(sql, REF, { disabled: true })),
  example(rotateSecret, (sql) => rotateSecret(sql, REF, 'whsec_1')),
  example(deleteEndpoint, (sql) => deleteEndpoint(sql, REF)),
]
