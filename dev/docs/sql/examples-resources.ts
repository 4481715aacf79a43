// Examples of the statements on payments, refunds, events, the ledger, tenants and webhooks.
import { findEvent, listEvents } from '../../../src/db/events/events.ts'
import {
  closeProviderEventIfPending,
  findProviderEvent,
  findProviderPaymentIds,
  findRefundOfObject,
  storeProviderEvent,
} from '../../../src/db/events/provider-events.ts'
import {
  listUnmatchedEvents,
  requeueStaleEvents,
} from '../../../src/db/events/stale-provider-events.ts'
import { findLedgerCaptures, findLedgerRefunds } from '../../../src/db/ledger/ledger-movements.ts'
import {
  findLedgerTransaction,
  listLedgerTransactions,
  readLedgerBalances,
} from '../../../src/db/ledger/ledger-transactions.ts'
import { changePayment, resumePayment } from '../../../src/db/payments/payment-changes.ts'
import { findPayment, listPayments } from '../../../src/db/payments/payments.ts'
import { changeRefund, findRefund, listRefunds } from '../../../src/db/payments/refunds.ts'
import {
  authenticateKey,
  findApiKey,
  insertApiKey,
  listApiKeys,
  revokeKeyIfNotRevoked,
  rotateKeyIfActive,
} from '../../../src/db/tenants/api-keys.ts'
import { createSharedCount } from '../../../src/db/tenants/rate-limits.ts'
import {
  findTenant,
  insertTenant,
  listTenants,
  setTenantDisabled,
  setTenantFees,
} from '../../../src/db/tenants/tenants.ts'
import {
  failIfDue,
  findDueDelivery,
  recordAttemptIfDue,
} from '../../../src/db/webhooks/webhook-attempts.ts'
import {
  findDelivery,
  listDeliveries,
  redeliverIfEnabled,
} from '../../../src/db/webhooks/webhook-deliveries.ts'
import {
  deleteEndpoint,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  rotateSecret,
} from '../../../src/db/webhooks/webhook-endpoints.ts'
import { REMINDER } from '../../../src/domain/events/provider-event.ts'
import { example, type Example } from './example.ts'
import {
  apiKey,
  ID,
  KEY,
  newEndpoint,
  NOW,
  PAGE,
  payment,
  PROVIDER,
  providerEvent,
  REF,
  refund,
  SECRET,
  webhookJob,
  WINDOW,
} from './example-values.ts'

export const LATER_PAGE = 'A page after a cursor, and the check that the cursor is in the list.'
const FILTERED = `With every filter. ${LATER_PAGE}`
/** A row was written. */
const WRITTEN = [[{}]]

const attempt = {
  id: ID,
  startedAt: NOW,
  latencyMs: 12,
  reply: { httpStatus: 500 },
  retryInSeconds: 5,
  disableAfterSeconds: 60,
}

export const eventExamples: readonly Example[] = [
  example(findEvent, (sql) => findEvent(sql, ID, ID)),
  example(
    listEvents,
    (sql) => listEvents(sql, ID, { type: 'payment.created', paymentId: ID }, PAGE),
    { variant: FILTERED },
  ),
  example(storeProviderEvent, (sql) => storeProviderEvent(sql, providerEvent)),
  example(findProviderEvent, (sql) => findProviderEvent(sql, providerEvent)),
  example(closeProviderEventIfPending, (sql) =>
    closeProviderEventIfPending(sql, providerEvent, 'applied'),
  ),
  example(findRefundOfObject, (sql) => findRefundOfObject(sql, payment, 're_1')),
  example(findProviderPaymentIds, (sql) => findProviderPaymentIds(sql, payment)),
  example(requeueStaleEvents, (sql) => requeueStaleEvents(sql, PROVIDER, REMINDER)),
  example(
    listUnmatchedEvents,
    (sql) =>
      listUnmatchedEvents(
        sql,
        { provider: PROVIDER, ...WINDOW },
        { providerPaymentId: 'pi_1', receivedAt: NOW.toISOString(), id: 'evt_1' },
      ),
    { variant: 'A later page.' },
  ),
]

export const ledgerExamples: readonly Example[] = [
  example(findLedgerCaptures, (sql) => findLedgerCaptures(sql, [REF])),
  example(findLedgerRefunds, (sql) => findLedgerRefunds(sql, [REF], 'refund')),
  example(findLedgerTransaction, (sql) => findLedgerTransaction(sql, ID, ID)),
  example(
    listLedgerTransactions,
    (sql) =>
      listLedgerTransactions(
        sql,
        ID,
        {
          paymentId: ID,
          kind: 'capture',
          currency: 'usd',
          createdFrom: NOW.toISOString(),
          createdBefore: NOW.toISOString(),
        },
        PAGE,
      ),
    { variant: FILTERED },
  ),
  example(readLedgerBalances, (sql) => readLedgerBalances(sql, ID)),
]

export const paymentExamples: readonly Example[] = [
  example(findPayment, (sql) => findPayment(sql, ID, ID)),
  example(listPayments, (sql) => listPayments(sql, ID, PAGE), { variant: LATER_PAGE }),
  example(changePayment, (sql) => changePayment(sql, payment, { status: 'unknown' }, KEY), {
    answers: WRITTEN,
    variant: 'With a new status. Without one, the parts for the event are absent.',
  }),
  example(resumePayment, (sql) => resumePayment(sql, payment, KEY), {
    answers: [[{ payment: {} }]],
  }),
  example(findRefund, (sql) => findRefund(sql, ID, ID)),
  example(listRefunds, (sql) => listRefunds(sql, REF, PAGE), { variant: LATER_PAGE }),
  example(changeRefund, (sql) => changeRefund(sql, refund, { status: 'unknown' }, KEY), {
    answers: WRITTEN,
  }),
]

export const tenantExamples: readonly Example[] = [
  example(authenticateKey, (_, store) => authenticateKey(store, SECRET)),
  example(insertApiKey, (sql) => insertApiKey(sql, { tenantId: ID, secret: SECRET }), {
    answers: WRITTEN,
  }),
  example(findApiKey, (sql) => findApiKey(sql, ID)),
  example(listApiKeys, (sql) => listApiKeys(sql, ID, PAGE), { variant: LATER_PAGE }),
  example(rotateKeyIfActive, (sql) => rotateKeyIfActive(sql, apiKey, 60), {
    variant: 'The new key is then written by `insertApiKey`.',
  }),
  example(revokeKeyIfNotRevoked, (sql) => revokeKeyIfNotRevoked(sql, ID)),
  example(createSharedCount, (sql) => createSharedCount(sql)('tenant', 1, 1_000), {
    answers: [[{ points: 1, expire: '1' }]],
    variant: 'The text is from rate-limiter-flexible.',
  }),
  example(insertTenant, (sql) => insertTenant(sql, 'Shop'), { answers: WRITTEN }),
  example(findTenant, (sql) => findTenant(sql, ID)),
  example(listTenants, (sql) => listTenants(sql, PAGE), { variant: LATER_PAGE }),
  example(setTenantFees, (sql) => setTenantFees(sql, ID, { basisPoints: 290, fixedMinor: 30 })),
  example(setTenantDisabled, (sql) => setTenantDisabled(sql, ID, true), {
    variant: 'To disable. To enable, the new value is a parameter, null.',
  }),
]

export const webhookExamples: readonly Example[] = [
  example(findDueDelivery, (sql) => findDueDelivery(sql, webhookJob)),
  example(
    recordAttemptIfDue,
    (sql) => recordAttemptIfDue(sql, webhookJob, { ...attempt, verdict: 'failed' }),
    { variant: 'For an attempt that failed. After a success, only the part `endpoint` differs:' },
  ),
  example(
    recordAttemptIfDue,
    (sql) => recordAttemptIfDue(sql, webhookJob, { ...attempt, verdict: 'succeeded' }),
    { variant: 'For an attempt that succeeded.' },
  ),
  example(failIfDue, (sql) => failIfDue(sql, webhookJob)),
  example(findDelivery, (sql) => findDelivery(sql, ID, ID)),
  example(
    listDeliveries,
    (sql) => listDeliveries(sql, ID, { endpointId: ID, eventId: ID, status: 'failed' }, PAGE),
    { variant: FILTERED },
  ),
  example(redeliverIfEnabled, (sql) => redeliverIfEnabled(sql, REF)),
  example(insertEndpoint, (sql) => insertEndpoint(sql, newEndpoint)),
  example(findEndpoint, (sql) => findEndpoint(sql, ID, ID)),
  example(listEndpoints, (sql) => listEndpoints(sql, ID, PAGE), { variant: LATER_PAGE }),
  example(rotateSecret, (sql) => rotateSecret(sql, REF, 'whsec_1')),
  example(deleteEndpoint, (sql) => deleteEndpoint(sql, REF)),
]
