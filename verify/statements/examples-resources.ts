// Examples of the statements on payments, refunds, disputes, events and the ledger, and on tenants, their
// API keys, customers and webhooks.
import { createSecretKey } from 'node:crypto'
import * as rotation from '../../src/encryption/rotation.ts'
import * as seals from '../../src/encryption/seals.ts'
import { findEvent, listEvents } from '../../src/db/events/events.ts'
import * as providerEvents from '../../src/db/events/provider-events.ts'
import * as ledger from '../../src/db/operations/record-phases.ts'
import * as ledgerReads from '../../src/http/resources/ledger.ts'
import * as compareEvents from '../../src/reconciliation/compare-events.ts'
import { insertProviderFeesIfNew } from '../../src/reconciliation/provider-fees.ts'
import { findProviderPaymentIds } from '../../src/recovery/outcome-resolver.ts'
import { announceIfExpiring, lookIfExpired } from '../../src/recovery/expiring-holds.ts'
import * as disputes from '../../src/db/payments/disputes.ts'
import * as payments from '../../src/db/payments/payments.ts'
import * as refunds from '../../src/db/payments/refunds.ts'
import { REMINDERS_QUEUE } from '../../src/db/queue/jobs.ts'
import { findPaymentOf } from '../../src/operations/follow-dispute/apply-dispute-event.ts'
import { entryOfCapture } from '../../src/domain/ledger/ledger.ts'
import { paymentAfter } from '../../src/domain/payments/payment.ts'
import { refundAfter } from '../../src/domain/payments/refund.ts'
import * as apiKeys from '../../src/db/tenants/api-keys.ts'
import { assignCustomers, listCustomers } from '../../src/db/tenants/provider-customers.ts'
import { createSharedCount } from '../../src/http/limits/rate-limit.ts'
import * as tenants from '../../src/db/tenants/tenants.ts'
import { findTenantLimits } from '../../src/db/tenants/tenants.ts'
import { announceEndedKeys } from '../../src/db/connection/notifications.ts'
import * as writeEvents from '../../src/db/events/write-events.ts'
import * as webhookAttempts from '../../src/webhooks/deliver-webhook.ts'
import { claimTestIfHalfOpen, judgeEndpoint } from '../../src/webhooks/endpoint-health.ts'
import * as webhookDeliveries from '../../src/db/webhooks/webhook-deliveries.ts'
import * as webhookEndpoints from '../../src/db/webhooks/webhook-endpoints.ts'
import { announceEarlyFraudWarning } from '../../src/operations/follow-dispute/apply-dispute-event.ts'
import { EARLY_FRAUD_WARNING } from '../../src/domain/events/event-types.ts'
import { FAILURES_TO_OPEN } from '../../src/domain/webhooks/webhook-endpoint.ts'
import type { Example } from './example.ts'
import {
  apiKey,
  claim,
  dispute,
  disputeRow,
  example,
  ID,
  KEY,
  LIMIT,
  newEndpoint,
  NOW,
  PAGE,
  payment,
  paymentRow,
  PROVIDER,
  PROVIDER_FEE,
  providerEvent,
  queuedEvent,
  REF,
  refund,
  refundRow,
  SECRET,
  webhookJob,
  WINDOW,
  WITH_DELIVERY,
  WRITTEN,
  writtenEvent,
} from './example.ts'

const DUE = { tenant_id: ID, id: ID, now: NOW.toISOString() }
const HOLD = {
  ...DUE,
  provider: PROVIDER,
  status: 'requires_capture',
  capture_before: new Date(NOW.getTime() + 1_000).toISOString(),
}
const captureEntry = entryOfCapture(payment, claim.fees)
const changedDispute = { dispute, before: dispute, events: [] }

const eventExamples: readonly Example[] = [
  example(findEvent, [ID, ID]),
  example(listEvents, [ID, { type: 'payment.created', paymentId: ID }, PAGE]),
  example(listEvents, [ID, {}, { limit: LIMIT, endingBefore: ID }]),
  example(providerEvents.storeProviderEvent, [providerEvent], [[queuedEvent]]),
  example(providerEvents.addProviderEvents, [[providerEvent], REMINDERS_QUEUE]),
  example(providerEvents.findProviderEvent, [providerEvent]),
  example(providerEvents.nameSubjectIfUnnamed, [providerEvent, payment]),
  example(providerEvents.closeProviderEventIfPending, [providerEvent, 'applied']),
  example(refunds.findRefundOfObject, [payment, 're_1']),
  example(
    announceEarlyFraudWarning,
    [payment, { provider: PROVIDER, objectId: 'issfr_1' }],
    [...WRITTEN, [paymentRow], ...WITH_DELIVERY],
  ),
  example(findProviderPaymentIds, [payment]),
  example(compareEvents.requeueStaleEvents, [PROVIDER], [[queuedEvent]]),
  example(compareEvents.walkUnmatchedPayments, [{ provider: PROVIDER, ...WINDOW }]),
]

const ledgerExamples: readonly Example[] = [
  example(ledger.makeLedgerIds, [ID, [{ claim }]]),
  example(ledger.insertPostings, [ID, [{ claim, entry: captureEntry }], [ID]]),
  example(
    insertProviderFeesIfNew,
    [[PROVIDER_FEE]],
    [[{ kind: 'capture', payment_id: ID, refund_id: null, operation_id: ID }]],
  ),
  example(ledgerReads.findLedgerTransaction, [ID, ID]),
  example(ledgerReads.listLedgerTransactions, [
    ID,
    {
      paymentId: ID,
      kind: 'capture',
      currency: 'usd',
      createdFrom: NOW.toISOString(),
      createdBefore: NOW.toISOString(),
    },
    PAGE,
  ]),
  example(ledgerReads.readLedgerBalances, [ID]),
]

const paymentExamples: readonly Example[] = [
  example(payments.findPayment, [ID, ID]),
  example(payments.findEachPayment, [[{ tenantId: ID, id: ID }]]),
  example(payments.listPayments, [ID, { reference: 'order-1042' }, PAGE]),
  example(payments.findUserOfReference, [
    { tenantId: ID, kind: 'payment', reference: 'order-1042' },
  ]),
  example(
    payments.changePayment,
    [payment, { status: 'unknown' }, KEY],
    [[paymentRow], ...WITH_DELIVERY],
  ),
  example(
    payments.updatePayment,
    [paymentAfter(payment, { status: 'unknown' }), KEY],
    [[paymentRow]],
  ),
  example(payments.storeOnPayment, [ID, ID, { description: 'stored' }]),
  example(announceIfExpiring, [86_400], [[DUE], [HOLD], [paymentRow], ...WITH_DELIVERY]),
  example(lookIfExpired, [], [[DUE], [HOLD], [queuedEvent]]),
  example(payments.resumePayment, [payment, KEY], [[], [paymentRow], ...WITH_DELIVERY]),
  example(refunds.findRefund, [ID, ID]),
  example(refunds.findUnreturned, [payment], [[{ leftMinor: 0, isRefunding: false }]]),
  example(refunds.listRefunds, [ID, { reference: 'return-1042' }, PAGE]),
  example(
    refunds.changeRefund,
    [refund, { status: 'unknown' }, KEY],
    [[refundRow], ...WRITTEN, ...WITH_DELIVERY],
  ),
  example(
    refunds.updateRefund,
    [refundAfter(refund, { status: 'unknown' }), KEY],
    [[refundRow], ...WRITTEN],
  ),
]

const disputeExamples: readonly Example[] = [
  example(disputes.isDisputed, [payment]),
  example(disputes.findDisputed, [ID, [ID]]),
  example(disputes.updateDispute, [changedDispute], [[disputeRow]]),
  example(disputes.findDispute, [ID, ID]),
  example(disputes.findDisputeOfObject, [ID, 'du_1']),
  example(findPaymentOf, [PROVIDER, { providerPaymentId: 'pi_1', correlation: null }]),
  example(disputes.listDisputes, [ID, { paymentId: ID, status: 'needs_response' }, PAGE]),
]

const older = { tenantId: ID, id: ID, boundTo: ID, stored: 'a', changed: 'b' }

const oldKey = { name: 'old', key: createSecretKey(Buffer.alloc(32)) }

const encryptionExamples: readonly Example[] = [
  example(seals.readNeededKeys, [[]]),
  example(seals.sealKey, [[oldKey]]),
  example(seals.forgetOtherSeals, ['new']),
  ...rotationExamples(),
]

function rotationExamples(): readonly Example[] {
  return rotation.storedColumns.flatMap((column) => [
    example(rotation.readOlderValues, [column, { limit: 500 }]),
    example(rotation.replaceIfUnchanged, [column, [older]]),
  ])
}

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
const DELIVERY = {
  id: ID,
  endpoint_id: ID,
  endpointId: ID,
  attempts: 0,
  nextAttemptAt: NOW.toISOString(),
}

const tenantExamples: readonly Example[] = [
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

const webhookExamples: readonly Example[] = [
  example(writeEvents.findSubscribers, [ID]),
  example(
    writeEvents.writeEvents,
    [ID, [{ type: 'payment.succeeded', kind: 'payment', row: paymentRow }]],
    WITH_DELIVERY,
  ),
  example(writeEvents.findPaymentEvents, [ID, [ID], EARLY_FRAUD_WARNING]),
  example(
    writeEvents.writeEndpointEvent,
    [REF, 'webhook_endpoint.test'],
    [[{ id: ID }], [writtenEvent]],
  ),
  example(
    judgeEndpoint,
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
  example(claimTestIfHalfOpen, [ID, ID, 20]),
  example(webhookAttempts.postponeIfDue, [webhookJob, 15], [[POSTPONED], [DELIVERY]]),
  example(webhookAttempts.failIfDue, [webhookJob]),
  example(webhookDeliveries.findDelivery, [ID, ID]),
  example(webhookDeliveries.listDeliveries, [null, { endpointId: ID }, { limit: LIMIT }]),
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

export const resourceExamples: readonly Example[] = [
  ...eventExamples,
  ...ledgerExamples,
  ...paymentExamples,
  ...disputeExamples,
  ...encryptionExamples,
  ...tenantExamples,
  ...webhookExamples,
]
