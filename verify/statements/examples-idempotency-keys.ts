// Examples of the statements on idempotency keys.
import { hash } from 'node:crypto'
import * as cancellations from '../../src/db/idempotency/cancellations.ts'
import { dropResponseIfCompleted } from '../../src/db/idempotency/dropped-responses.ts'
import * as idempotencyKeys from '../../src/db/idempotency/idempotency-keys.ts'
import { reserveEach } from '../../src/db/idempotency/intents.ts'
import * as keyExpiry from '../../src/db/idempotency/key-expiry.ts'
import { addReplays, listReplays } from '../../src/db/idempotency/key-replays.ts'
import * as keyTombstones from '../../src/db/idempotency/key-tombstones.ts'
import { doOnce } from '../../src/db/idempotency/local-operations.ts'
import { releaseKeys } from '../../src/db/idempotency/reserve-keys.ts'
import { noResource } from '../../src/db/idempotency/intent.ts'
import * as payments from '../../src/db/payments/payments.ts'
import { insertDispute, selectDispute } from '../../src/db/payments/disputes.ts'
import { insertRefunds, lockRefundIfIn } from '../../src/db/payments/refunds.ts'
import type { Example } from './example.ts'
import {
  dispute,
  example,
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
  WRITTEN,
  writtenEvent,
} from './example.ts'

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
  details: { amountMinor: 500, reason: null, reference: null, metadata: {} },
}
const paymentIntent = {
  ...intent,
  details: { ...payments.detailsOfPayment(payment, 'stripe'), customer: 'cus_1' },
}
const retriedIntent = { ...intent, expiredKeys: 'new', firstSent: NOW } as const

const reserved = { ...localReservation, tenant_id: ID, job_id: ID }
const tombstone = { key_hash: hash('sha256', KEY, 'buffer'), expired_at: NOW.toISOString() }

export const idempotencyExamples: readonly Example[] = [
  example(idempotencyKeys.countActiveKeys, [ID, LIMIT]),
  example(idempotencyKeys.countStoredKeys, [ID, LIMIT]),
  example(dropResponseIfCompleted, [overview, 'ietf']),
  example(
    reserveEach,
    [[paymentIntent], payments.insertPayments],
    [
      [reserved],
      [],
      [{ provider: 'stripe', id: 'cus_1' }],
      [subscriber],
      [paymentRow],
      [],
      [],
      [writtenEvent],
    ],
  ),
  // Its key was used and has expired.
  example(
    reserveEach,
    [[{ ...intent, expiredKeys: 'new' }], payments.selectPaymentIfIn(['succeeded'])],
    [[reserved], [tombstone], [], [], [paymentRow]],
  ),
  // It is too old for that.
  example(reserveEach, [[retriedIntent], noResource], [[reserved], [tombstone]]),
  example(releaseKeys, [ID, [REF]]),
  example(payments.insertPayments, [ID, [paymentIntent]]),
  example(
    payments.markProcessingIfIn,
    (sql) => payments.markProcessingIfIn(['requires_capture'])(sql, ID, [intent]),
    [[{ ...paymentRow, status: 'requires_capture' }]],
  ),
  example(payments.selectPaymentIfIn, (sql) =>
    payments.selectPaymentIfIn(['succeeded'])(sql, ID, [intent]),
  ),
  example(payments.lockPayments, [ID, [intent]]),
  example(insertRefunds, [ID, [refundIntent]], [[paymentRow], [], [refundRow]]),
  example(lockRefundIfIn, (sql) => lockRefundIfIn(['succeeded'])(sql, ID, [refundIntent])),
  example(insertDispute, (sql) => insertDispute(newDispute)(sql, ID, [disputeIntent])),
  example(selectDispute, [ID, [disputeIntent]]),
  example(idempotencyKeys.findKeyRows, [ID, [{ key: KEY }]]),
  example(idempotencyKeys.findEach, [[{ tenantId: ID, key: KEY }]]),
  example(addReplays, [[replayCount]], [[{ id: replayCount.id }]]),
  example(listReplays, [ID, [ID]]),
  example(idempotencyKeys.findIdle, [[REF]]),
  example(idempotencyKeys.findSecondsUntilStart, [REF], [[{ job: ID }]]),
  example(idempotencyKeys.reopenIfFailed, [REF, TRACEPARENT], [[queued]]),
  example(cancellations.cancelIfNotBegun, [
    REF,
    'pending',
    { ...BY_OPERATION, response: RESPONSE },
  ]),
  example(
    cancellations.requestCancellation,
    [
      { ...REF, paymentId: ID },
      { ...BATCH, provider: 'stripe' },
    ],
    [...WRITTEN, [queuedEvent]],
  ),
  example(cancellations.findCancellation, [REF]),
  example(cancellations.endCancellation, [REF, 'undone']),
  example(
    keyExpiry.deleteExpiredKeys,
    [LIMIT],
    [
      [REF],
      [
        {
          key: KEY,
          paymentId: REF.id,
          refundId: null,
          expiredAt: NOW.toISOString(),
          location: null,
        },
      ],
    ],
  ),
  example(keyExpiry.timeOutIfAbandoned, [RESPONSE, BY_OPERATION]),
  example(keyExpiry.completeIfOvertaken, [RESPONSE, BY_OPERATION]),
  example(keyExpiry.keepIfPartlyExecuted, [BY_OPERATION], [[{ ...REF, paymentId: ID }]]),
  example(keyTombstones.findTombstones, [ID, [{ key: KEY }]]),
  example(keyTombstones.findTombstone, [ID, KEY]),
  example(keyTombstones.deleteOldTombstones, [BATCH]),
  example(
    doOnce,
    [localReservation, () => Promise.resolve(RESPONSE)],
    [[reserved], [], [reserved]],
  ),
]
