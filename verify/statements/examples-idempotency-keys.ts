// Examples of the statements on idempotency keys.
import {
  cancelIfNotBegun,
  endCancellation,
  findCancellation,
  requestCancellation,
} from '../../src/db/idempotency/cancellations.ts'
import { countActiveKeys, countStoredKeys } from '../../src/db/idempotency/count-keys.ts'
import { dropResponseIfCompleted } from '../../src/db/idempotency/dropped-responses.ts'
import { findEach, findIdle, reopenIfFailed } from '../../src/db/idempotency/idempotency-keys.ts'
import { findSecondsUntilStart } from '../../src/db/idempotency/retry-start.ts'
import { noResource, reserveEach } from '../../src/db/idempotency/intents.ts'
import {
  deleteIfTombstoned,
  insertTombstones,
  keepIfPartlyExecuted,
  completeIfOvertaken,
  timeOutIfAbandoned,
} from '../../src/db/idempotency/key-expiry.ts'
import { addReplays, listReplays } from '../../src/db/idempotency/key-replays.ts'
import { deleteOldTombstones, findTombstone } from '../../src/db/idempotency/key-tombstones.ts'
import { doOnce } from '../../src/db/idempotency/local-operations.ts'
import {
  detailsOfPayment,
  insertPayments,
  markProcessingIfIn,
} from '../../src/db/payments/payments.ts'
import { insertDispute, selectDispute } from '../../src/db/payments/disputes.ts'
import { detailsOfRefund, insertRefunds, lockRefundIfIn } from '../../src/db/payments/refunds.ts'
import { example, type Example } from './example.ts'
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
  REF,
  RESPONSE,
  RETENTION_SECONDS,
  TRACEPARENT,
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
/** The reservation was successful. */
const RESERVED = { answers: [[{ asked_id: intent.id, id: ID, tenant_id: ID, key: KEY }]] }

const refundIntent = {
  ...intent,
  refundId: ID,
  details: detailsOfRefund({ amountMinor: 500, reason: null, reference: null, metadata: {} }),
}

export const idempotencyExamples: readonly Example[] = [
  example(countActiveKeys, (sql) => countActiveKeys(sql, ID, LIMIT)),
  example(countStoredKeys, (sql) => countStoredKeys(sql, ID, LIMIT)),
  example(dropResponseIfCompleted, (sql) => dropResponseIfCompleted(sql, overview, 'ietf')),
  example(
    reserveEach,
    (sql) => {
      const details = detailsOfPayment(payment, 'stripe')
      return reserveEach(sql, [{ ...intent, details }], insertPayments(sql))
    },
    {
      ...RESERVED,
    },
  ),
  example(
    reserveEach,
    (sql) => reserveEach(sql, [intent], markProcessingIfIn(sql, ['requires_capture'])),
    { ...RESERVED },
  ),
  example(reserveEach, (sql) => reserveEach(sql, [refundIntent], insertRefunds(sql)), {
    ...RESERVED,
  }),
  example(
    reserveEach,
    (sql) => reserveEach(sql, [refundIntent], lockRefundIfIn(sql, ['succeeded'])),
    { ...RESERVED },
  ),
  example(reserveEach, (sql) => reserveEach(sql, [disputeIntent], insertDispute(sql, newDispute)), {
    ...RESERVED,
  }),
  example(reserveEach, (sql) => reserveEach(sql, [disputeIntent], selectDispute(sql)), {
    ...RESERVED,
  }),
  example(reserveEach, (sql) => reserveEach(sql, [intent], noResource(sql)), {
    ...RESERVED,
  }),
  example(findEach, (sql) => findEach(sql, [{ tenantId: ID, key: KEY }])),
  example(addReplays, (sql) => addReplays(sql, [replayCount])),
  example(listReplays, (sql) => listReplays(sql, ID, [ID])),
  example(findIdle, (sql) => findIdle(sql, [REF])),
  example(findSecondsUntilStart, (sql) => findSecondsUntilStart(sql, REF)),
  example(reopenIfFailed, (sql) => reopenIfFailed(sql, REF, TRACEPARENT)),
  example(cancelIfNotBegun, (sql) =>
    cancelIfNotBegun(sql, REF, 'pending', { ...BY_OPERATION, response: RESPONSE }),
  ),
  example(requestCancellation, (sql) =>
    requestCancellation(sql, { ...REF, paymentId: ID }, { ...BATCH, provider: 'stripe' }),
  ),
  example(findCancellation, (sql) => findCancellation(sql, REF)),
  example(endCancellation, (sql) => endCancellation(sql, REF, 'undone')),
  example(insertTombstones, (sql) => insertTombstones(sql, { limit: LIMIT }), {
    answers: [[{ looked_at: 0 }]],
  }),
  example(deleteIfTombstoned, (sql) =>
    deleteIfTombstoned(sql, { limit: LIMIT, statementTimeoutMs: 5_000 }),
  ),
  example(timeOutIfAbandoned, (sql) => timeOutIfAbandoned(sql, RESPONSE, BY_OPERATION)),
  example(completeIfOvertaken, (sql) => completeIfOvertaken(sql, RESPONSE, BY_OPERATION)),
  example(keepIfPartlyExecuted, (sql) => keepIfPartlyExecuted(sql, BY_OPERATION)),
  example(findTombstone, (sql) => findTombstone(sql, ID, KEY)),
  example(deleteOldTombstones, (sql) => deleteOldTombstones(sql, BATCH)),
  example(doOnce, (sql) => doOnce(sql, localReservation, () => Promise.resolve(RESPONSE)), {
    answers: [[{}], [{ tenant_id: localReservation.tenantId, key: KEY }]],
  }),
]
