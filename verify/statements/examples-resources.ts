// Examples of the statements on payments, refunds, disputes, events and the ledger.
import {
  readOlderValues,
  replaceIfUnchanged,
  storedColumns,
} from '../../src/db/encryption/rotation.ts'
import { forgetOtherSeals, readNeededKeys, sealKeys } from '../../src/db/encryption/seals.ts'
import { encryptionKeys } from '../../src/config-formats.ts'
import { findEvent, listEvents } from '../../src/db/events/events.ts'
import {
  addProviderEvents,
  closeProviderEventIfPending,
  findProviderEvent,
  findProviderPaymentIds,
  findRefundOfObject,
  nameSubjectIfUnnamed,
  storeProviderEvent,
} from '../../src/db/events/provider-events.ts'
import {
  listUnmatchedEvents,
  requeueStaleEvents,
} from '../../src/db/events/stale-provider-events.ts'
import { insertPostings } from '../../src/db/ledger/ledger.ts'
import { insertProviderFeesIfNew } from '../../src/db/ledger/provider-fees.ts'
import { announceEarlyFraudWarning } from '../../src/db/events/early-fraud-warnings.ts'
import {
  findLedgerCaptures,
  findLedgerDisputes,
  findLedgerRefunds,
} from '../../src/db/ledger/ledger-movements.ts'
import {
  findLedgerTransaction,
  listLedgerTransactions,
  readLedgerBalances,
} from '../../src/db/ledger/ledger-transactions.ts'
import { announceIfExpiring, lookIfExpired } from '../../src/db/payments/expiring-payments.ts'
import {
  findDispute,
  findDisputed,
  findDisputeOfObject,
  isDisputed,
  listDisputes,
  updateDispute,
} from '../../src/db/payments/disputes.ts'
import {
  changePayment,
  resumePayment,
  updatePayment,
} from '../../src/db/payments/payment-changes.ts'
import { findPayment, listPayments } from '../../src/db/payments/payments.ts'
import { findUserOfReference } from '../../src/db/payments/references.ts'
import { changeRefund, updateRefund } from '../../src/db/payments/refund-changes.ts'
import { findRefund, findUnreturned, listRefunds } from '../../src/db/payments/refunds.ts'
import { REMINDERS_QUEUE } from '../../src/db/queue/queues.ts'
import { REMINDER } from '../../src/domain/events/provider-event.ts'
import { entryOfCapture } from '../../src/domain/ledger/ledger.ts'
import { paymentAfter } from '../../src/domain/payments/payment.ts'
import { refundAfter } from '../../src/domain/payments/refund.ts'
import { example, type Example, WITH_DELIVERY, WRITTEN } from './example.ts'
import {
  claim,
  dispute,
  disputeRow,
  ID,
  KEY,
  LIMIT,
  NOW,
  PAGE,
  payment,
  paymentRow,
  PROVIDER,
  providerEvent,
  PROVIDER_FEE,
  queuedEvent,
  REF,
  refund,
  refundRow,
  WINDOW,
} from './example-values.ts'

const DUE = { tenant_id: ID, id: ID, now: NOW.toISOString() }
const HOLD = {
  ...DUE,
  provider: PROVIDER,
  status: 'requires_capture',
  capture_before: new Date(NOW.getTime() + 1_000).toISOString(),
}
const captureEntry = entryOfCapture(payment, claim.fees)
const changedDispute = { dispute, before: dispute, events: [] }

export const eventExamples: readonly Example[] = [
  example(findEvent, (sql) => findEvent(sql, ID, ID)),
  example(listEvents, (sql) =>
    listEvents(sql, ID, { type: 'payment.created', paymentId: ID }, PAGE),
  ),
  example(listEvents, (sql) => listEvents(sql, ID, {}, { limit: LIMIT, endingBefore: ID })),
  example(storeProviderEvent, (sql) => storeProviderEvent(sql, providerEvent), {
    answers: [[queuedEvent]],
  }),
  example(addProviderEvents, (sql) => addProviderEvents(sql, [providerEvent], REMINDERS_QUEUE)),
  example(findProviderEvent, (sql) => findProviderEvent(sql, providerEvent)),
  example(nameSubjectIfUnnamed, (sql) => nameSubjectIfUnnamed(sql, providerEvent, payment)),
  example(closeProviderEventIfPending, (sql) =>
    closeProviderEventIfPending(sql, providerEvent, 'applied'),
  ),
  example(findRefundOfObject, (sql) => findRefundOfObject(sql, payment, 're_1')),
  example(
    announceEarlyFraudWarning,
    (sql) => announceEarlyFraudWarning(sql, payment, { provider: PROVIDER, objectId: 'issfr_1' }),
    { answers: [...WRITTEN, [paymentRow], ...WITH_DELIVERY] },
  ),
  example(findProviderPaymentIds, (sql) => findProviderPaymentIds(sql, payment)),
  example(requeueStaleEvents, (sql) => requeueStaleEvents(sql, PROVIDER, REMINDER), {
    answers: [[{ id: ID, tenantId: ID }]],
  }),
  example(listUnmatchedEvents, (sql) =>
    listUnmatchedEvents(
      sql,
      { provider: PROVIDER, ...WINDOW },
      { providerPaymentId: 'pi_1', receivedAt: NOW.toISOString(), id: 'evt_1' },
    ),
  ),
]

export const ledgerExamples: readonly Example[] = [
  example(findLedgerCaptures, (sql) => findLedgerCaptures(sql, [REF])),
  example(findLedgerRefunds, (sql) => findLedgerRefunds(sql, [REF], 'refund')),
  example(insertPostings, (sql) => insertPostings(sql, ID, [{ claim, entry: captureEntry }])),
  example(insertProviderFeesIfNew, (sql) => insertProviderFeesIfNew(sql, [PROVIDER_FEE]), {
    answers: [[{ kind: 'capture', payment_id: ID, refund_id: null, operation_id: ID }]],
  }),
  example(findLedgerDisputes, (sql) => findLedgerDisputes(sql, [REF])),
  example(findLedgerTransaction, (sql) => findLedgerTransaction(sql, ID, ID)),
  example(listLedgerTransactions, (sql) =>
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
  ),
  example(readLedgerBalances, (sql) => readLedgerBalances(sql, ID)),
]

export const paymentExamples: readonly Example[] = [
  example(findPayment, (sql) => findPayment(sql, ID, ID)),
  example(listPayments, (sql) => listPayments(sql, ID, { reference: 'order-1042' }, PAGE)),
  example(findUserOfReference, (sql) =>
    findUserOfReference(sql, { tenantId: ID, kind: 'payment', reference: 'order-1042' }),
  ),
  example(changePayment, (sql) => changePayment(sql, payment, { status: 'unknown' }, KEY), {
    answers: [[paymentRow], ...WITH_DELIVERY],
  }),
  example(
    updatePayment,
    (sql) => updatePayment(sql, paymentAfter(payment, { status: 'unknown' }), KEY),
    {
      answers: [[paymentRow]],
    },
  ),
  example(
    announceIfExpiring,
    (sql) => announceIfExpiring(sql, { noticeSeconds: 86_400, limit: LIMIT }),
    { answers: [[DUE], [HOLD], [paymentRow], ...WITH_DELIVERY] },
  ),
  example(lookIfExpired, (sql) => lookIfExpired(sql, { limit: LIMIT }), {
    answers: [[DUE], [HOLD], [queuedEvent]],
  }),
  example(resumePayment, (sql) => resumePayment(sql, payment, KEY), {
    answers: [[], [paymentRow], ...WITH_DELIVERY],
  }),
  example(findRefund, (sql) => findRefund(sql, ID, ID)),
  example(findUnreturned, (sql) => findUnreturned(sql, payment), {
    answers: [[{ leftMinor: 0, isRefunding: false }]],
  }),
  example(listRefunds, (sql) => listRefunds(sql, ID, { reference: 'return-1042' }, PAGE)),
  example(changeRefund, (sql) => changeRefund(sql, refund, { status: 'unknown' }, KEY), {
    answers: [[refundRow], ...WRITTEN, ...WITH_DELIVERY],
  }),
  example(
    updateRefund,
    (sql) => updateRefund(sql, refundAfter(refund, { status: 'unknown' }), KEY),
    {
      answers: [[refundRow], ...WRITTEN],
    },
  ),
]

export const disputeExamples: readonly Example[] = [
  example(isDisputed, (sql) => isDisputed(sql, payment)),
  example(findDisputed, (sql) => findDisputed(sql, ID, [ID])),
  example(updateDispute, (sql) => updateDispute(sql, changedDispute), {
    answers: [[disputeRow]],
  }),
  example(findDispute, (sql) => findDispute(sql, ID, ID)),
  example(findDisputeOfObject, (sql) => findDisputeOfObject(sql, ID, 'du_1')),
  example(listDisputes, (sql) =>
    listDisputes(sql, ID, { paymentId: ID, status: 'needs_response' }, PAGE),
  ),
]

const older = { tenantId: ID, id: ID, boundTo: ID, stored: 'a', changed: 'b' }

const noKeys = { first: undefined, keys: [] }
const someKeys = encryptionKeys.parse(`old:${Buffer.alloc(32).toString('base64')}`)

export const encryptionExamples: readonly Example[] = [
  example(readNeededKeys, (sql) => readNeededKeys(sql, noKeys)),
  example(sealKeys, (sql) => sealKeys(sql, someKeys, ['old'])),
  example(forgetOtherSeals, (sql) => forgetOtherSeals(sql, 'new')),
  ...rotationExamples(),
]

function rotationExamples(): readonly Example[] {
  return storedColumns.flatMap((column) => [
    example(readOlderValues, (sql) => readOlderValues(sql, column, { limit: 500 })),
    example(replaceIfUnchanged, (sql) => replaceIfUnchanged(sql, column, [older])),
  ])
}
