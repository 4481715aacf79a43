// Examples of the statements on payments, refunds, disputes, events and the ledger.
import * as rotation from '../../src/db/encryption/rotation.ts'
import * as seals from '../../src/db/encryption/seals.ts'
import { encryptionKeys } from '../../src/config-formats.ts'
import { findEvent, listEvents } from '../../src/db/events/events.ts'
import * as providerEvents from '../../src/db/events/provider-events.ts'
import { insertPostings, insertProviderFeesIfNew } from '../../src/db/ledger/ledger.ts'
import * as ledgerMovements from '../../src/db/ledger/ledger-movements.ts'
import * as ledgerTransactions from '../../src/db/ledger/ledger-transactions.ts'
import { announceIfExpiring, lookIfExpired } from '../../src/db/payments/expiring-payments.ts'
import * as disputes from '../../src/db/payments/disputes.ts'
import * as lists from '../../src/db/payments/lists.ts'
import * as payments from '../../src/db/payments/payments.ts'
import * as refunds from '../../src/db/payments/refunds.ts'
import { REMINDERS_QUEUE } from '../../src/db/queue/jobs.ts'
import { REMINDER } from '../../src/domain/events/provider-event.ts'
import { entryOfCapture } from '../../src/domain/ledger/ledger.ts'
import { paymentAfter } from '../../src/domain/payments/payment.ts'
import { refundAfter } from '../../src/domain/payments/refund.ts'
import type { Example } from './example.ts'
import {
  claim,
  dispute,
  disputeRow,
  example,
  ID,
  KEY,
  LIMIT,
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
  WINDOW,
  WITH_DELIVERY,
  WRITTEN,
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

export const eventExamples: readonly Example[] = [
  example(findEvent, [ID, ID]),
  example(listEvents, [ID, { type: 'payment.created', paymentId: ID }, PAGE]),
  example(listEvents, [ID, {}, { limit: LIMIT, endingBefore: ID }]),
  example(providerEvents.storeProviderEvent, [providerEvent], [[queuedEvent]]),
  example(providerEvents.addProviderEvents, [[providerEvent], REMINDERS_QUEUE]),
  example(providerEvents.findProviderEvent, [providerEvent]),
  example(providerEvents.nameSubjectIfUnnamed, [providerEvent, payment]),
  example(providerEvents.closeProviderEventIfPending, [providerEvent, 'applied']),
  example(providerEvents.findRefundOfObject, [payment, 're_1']),
  example(
    providerEvents.announceEarlyFraudWarning,
    [payment, { provider: PROVIDER, objectId: 'issfr_1' }],
    [...WRITTEN, [paymentRow], ...WITH_DELIVERY],
  ),
  example(providerEvents.findProviderPaymentIds, [payment]),
  example(providerEvents.requeueStaleEvents, [PROVIDER, REMINDER], [[{ id: ID, tenantId: ID }]]),
  example(providerEvents.listUnmatchedEvents, [
    { provider: PROVIDER, ...WINDOW },
    { providerPaymentId: 'pi_1', receivedAt: NOW.toISOString(), id: 'evt_1' },
  ]),
]

export const ledgerExamples: readonly Example[] = [
  example(ledgerMovements.findLedgerCaptures, [[REF]]),
  example(ledgerMovements.findLedgerRefunds, [[REF], 'refund']),
  example(insertPostings, [ID, [{ claim, entry: captureEntry }]]),
  example(
    insertProviderFeesIfNew,
    [[PROVIDER_FEE]],
    [[{ kind: 'capture', payment_id: ID, refund_id: null, operation_id: ID }]],
  ),
  example(ledgerMovements.findLedgerDisputes, [[REF]]),
  example(ledgerTransactions.findLedgerTransaction, [ID, ID]),
  example(ledgerTransactions.listLedgerTransactions, [
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
  example(ledgerTransactions.readLedgerBalances, [ID]),
]

export const paymentExamples: readonly Example[] = [
  example(payments.findPayment, [ID, ID]),
  example(lists.listPayments, [ID, { reference: 'order-1042' }, PAGE]),
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
  example(
    announceIfExpiring,
    [{ noticeSeconds: 86_400, limit: LIMIT }],
    [[DUE], [HOLD], [paymentRow], ...WITH_DELIVERY],
  ),
  example(lookIfExpired, [{ limit: LIMIT }], [[DUE], [HOLD], [queuedEvent]]),
  example(payments.resumePayment, [payment, KEY], [[], [paymentRow], ...WITH_DELIVERY]),
  example(refunds.findRefund, [ID, ID]),
  example(refunds.findUnreturned, [payment], [[{ leftMinor: 0, isRefunding: false }]]),
  example(lists.listRefunds, [ID, { reference: 'return-1042' }, PAGE]),
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

export const disputeExamples: readonly Example[] = [
  example(disputes.isDisputed, [payment]),
  example(disputes.findDisputed, [ID, [ID]]),
  example(disputes.updateDispute, [changedDispute], [[disputeRow]]),
  example(disputes.findDispute, [ID, ID]),
  example(disputes.findDisputeOfObject, [ID, 'du_1']),
  example(lists.listDisputes, [ID, { paymentId: ID, status: 'needs_response' }, PAGE]),
]

const older = { tenantId: ID, id: ID, boundTo: ID, stored: 'a', changed: 'b' }

const noKeys = { first: undefined, keys: [] }
const someKeys = encryptionKeys.parse(`old:${Buffer.alloc(32).toString('base64')}`)

export const encryptionExamples: readonly Example[] = [
  example(seals.readNeededKeys, [noKeys]),
  example(seals.sealKeys, [someKeys, ['old']]),
  example(seals.forgetOtherSeals, ['new']),
  ...rotationExamples(),
]

function rotationExamples(): readonly Example[] {
  return rotation.storedColumns.flatMap((column) => [
    example(rotation.readOlderValues, [column, { limit: 500 }]),
    example(rotation.replaceIfUnchanged, [column, [older]]),
  ])
}
