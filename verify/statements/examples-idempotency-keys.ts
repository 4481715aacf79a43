// Examples of the statements on idempotency keys.
import { hash } from 'node:crypto'
import {
  cancelIfNotBegun,
  endCancellation,
  findCancellation,
  requestCancellation,
} from '../../src/db/idempotency/cancellations.ts'
import { countActiveKeys, countStoredKeys } from '../../src/db/idempotency/count-keys.ts'
import { dropResponseIfCompleted } from '../../src/db/idempotency/dropped-responses.ts'
import {
  findEach,
  findIdle,
  findKeyRows,
  reopenIfFailed,
} from '../../src/db/idempotency/idempotency-keys.ts'
import { findSecondsUntilStart } from '../../src/db/idempotency/retry-start.ts'
import { reserveEach } from '../../src/db/idempotency/intents.ts'
import {
  deleteIfTombstoned,
  insertTombstones,
  keepIfPartlyExecuted,
  completeIfOvertaken,
  timeOutIfAbandoned,
} from '../../src/db/idempotency/key-expiry.ts'
import { addReplays, listReplays } from '../../src/db/idempotency/key-replays.ts'
import {
  deleteOldTombstones,
  findTombstone,
  findTombstones,
} from '../../src/db/idempotency/key-tombstones.ts'
import { doOnce } from '../../src/db/idempotency/local-operations.ts'
import { releaseKeys } from '../../src/db/idempotency/reserve-keys.ts'
import { noResource } from '../../src/db/idempotency/resources.ts'
import {
  detailsOfPayment,
  insertPayments,
  lockPayments,
  markProcessingIfIn,
  selectPaymentIfIn,
} from '../../src/db/payments/payments.ts'
import { insertDispute, selectDispute } from '../../src/db/payments/disputes.ts'
import { detailsOfRefund, insertRefunds, lockRefundIfIn } from '../../src/db/payments/refunds.ts'
import { example, type Example, WRITTEN } from './example.ts'
import {
  dispute,
  ID,
  intent,
  KEY,
  LIMIT,
  localReservation,
  NOW,
  overview,
  payment,
  paymentRow,
  queued,
  queuedEvent,
  REF,
  refundRow,
  RESPONSE,
  RETENTION_SECONDS,
  subscriber,
  TRACEPARENT,
  writtenEvent,
} from './example-values.ts'

const replayCount = {
  ...REF,
  replays: 1,
  conflicts: 0,
  mismatches: 0,
  firstAt: NOW,
  lastAt: NOW,
}
const BATCH = { limit: LIMIT, retentionSeconds: RETENTION_SECONDS }
const BY_OPERATION = { limit: LIMIT, retention: { KEY_RETENTION_SECONDS: RETENTION_SECONDS } }
const disputeIntent = { ...intent, operation: 'dispute.follow', disputeId: ID }
const newDispute = { providerDisputeId: 'du_1', openedAt: NOW, standing: dispute }
const refundIntent = {
  ...intent,
  refundId: ID,
  details: detailsOfRefund({ amountMinor: 500, reason: null, reference: null, metadata: {} }),
}
const paymentIntent = {
  ...intent,
  details: { ...detailsOfPayment(payment, 'stripe'), customer: 'cus_1' },
}
const retriedIntent = { ...intent, expiredKeys: 'new', firstSent: NOW } as const

const reserved = { ...localReservation, tenant_id: ID, job_id: ID }
const tombstone = { key_hash: hash('sha256', KEY, 'buffer'), expired_at: NOW.toISOString() }

export const idempotencyExamples: readonly Example[] = [
  example(countActiveKeys, (sql) => countActiveKeys(sql, ID, LIMIT)),
  example(countStoredKeys, (sql) => countStoredKeys(sql, ID, LIMIT)),
  example(dropResponseIfCompleted, (sql) => dropResponseIfCompleted(sql, overview, 'ietf')),
  example(reserveEach, (sql) => reserveEach(sql, [paymentIntent], insertPayments), {
    answers: [
      [reserved],
      [],
      [{ provider: 'stripe', id: 'cus_1' }],
      [subscriber],
      [paymentRow],
      [],
      [],
      [writtenEvent],
    ],
  }),
  // Its key was used and has expired.
  example(
    reserveEach,
    (sql) =>
      reserveEach(sql, [{ ...intent, expiredKeys: 'new' }], selectPaymentIfIn(['succeeded'])),
    { answers: [[reserved], [tombstone], [], [], [paymentRow]] },
  ),
  // It is too old for that.
  example(reserveEach, (sql) => reserveEach(sql, [retriedIntent], noResource), {
    answers: [[reserved], [tombstone]],
  }),
  example(releaseKeys, (sql) => releaseKeys(sql, ID, [REF])),
  example(insertPayments, (sql) => insertPayments(sql, ID, [paymentIntent])),
  example(
    markProcessingIfIn,
    (sql) => markProcessingIfIn(['requires_capture'])(sql, ID, [intent]),
    { answers: [[{ ...paymentRow, status: 'requires_capture' }]] },
  ),
  example(selectPaymentIfIn, (sql) => selectPaymentIfIn(['succeeded'])(sql, ID, [intent])),
  example(lockPayments, (sql) => lockPayments(sql, ID, [intent])),
  example(insertRefunds, (sql) => insertRefunds(sql, ID, [refundIntent]), {
    answers: [[paymentRow], [], [refundRow]],
  }),
  example(lockRefundIfIn, (sql) => lockRefundIfIn(['succeeded'])(sql, ID, [refundIntent])),
  example(insertDispute, (sql) => insertDispute(newDispute)(sql, ID, [disputeIntent])),
  example(selectDispute, (sql) => selectDispute(sql, ID, [disputeIntent])),
  example(findKeyRows, (sql) => findKeyRows(sql, ID, [{ key: KEY }])),
  example(findEach, (sql) => findEach(sql, [{ tenantId: ID, key: KEY }])),
  example(addReplays, (sql) => addReplays(sql, [replayCount]), {
    answers: [[{ id: replayCount.id }]],
  }),
  example(listReplays, (sql) => listReplays(sql, ID, [ID])),
  example(findIdle, (sql) => findIdle(sql, [REF])),
  example(findSecondsUntilStart, (sql) => findSecondsUntilStart(sql, REF), {
    answers: [[{ job: ID }]],
  }),
  example(reopenIfFailed, (sql) => reopenIfFailed(sql, REF, TRACEPARENT), {
    answers: [[queued]],
  }),
  example(cancelIfNotBegun, (sql) =>
    cancelIfNotBegun(sql, REF, 'pending', { ...BY_OPERATION, response: RESPONSE }),
  ),
  example(
    requestCancellation,
    (sql) => requestCancellation(sql, { ...REF, paymentId: ID }, { ...BATCH, provider: 'stripe' }),
    { answers: [...WRITTEN, [queuedEvent]] },
  ),
  example(findCancellation, (sql) => findCancellation(sql, REF)),
  example(endCancellation, (sql) => endCancellation(sql, REF, 'undone')),
  example(insertTombstones, (sql) => insertTombstones(sql, { limit: LIMIT }), {
    answers: [[{ ...reserved, expired_at: NOW.toISOString() }]],
  }),
  example(
    deleteIfTombstoned,
    (sql) => deleteIfTombstoned(sql, { limit: LIMIT, statementTimeoutMs: 5_000 }),
    {
      answers: [
        [{ ...reserved, expires_in_seconds: -60 }],
        [{ ...tombstone, buried_in_seconds: -30 }],
      ],
    },
  ),
  example(timeOutIfAbandoned, (sql) => timeOutIfAbandoned(sql, RESPONSE, BY_OPERATION)),
  example(completeIfOvertaken, (sql) => completeIfOvertaken(sql, RESPONSE, BY_OPERATION)),
  example(keepIfPartlyExecuted, (sql) => keepIfPartlyExecuted(sql, BY_OPERATION), {
    answers: [[{ ...REF, paymentId: ID }]],
  }),
  example(findTombstones, (sql) => findTombstones(sql, ID, [KEY])),
  example(findTombstone, (sql) => findTombstone(sql, ID, KEY)),
  example(deleteOldTombstones, (sql) => deleteOldTombstones(sql, BATCH)),
  example(doOnce, (sql) => doOnce(sql, localReservation, () => Promise.resolve(RESPONSE)), {
    answers: [[reserved], [], [reserved]],
  }),
]
