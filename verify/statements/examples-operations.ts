// Examples of the statements on idempotency keys and operations.
import { hash } from 'node:crypto'
import * as cancellations from '../../src/db/idempotency/cancellations.ts'
import { dropResponses } from '../../src/db/idempotency/dropped-responses.ts'
import * as idempotencyKeys from '../../src/db/idempotency/idempotency-keys.ts'
import { findSecondsUntilStart } from '../../src/http/keyed/keyed-answer.ts'
import { reserveEach } from '../../src/db/idempotency/intents.ts'
import { addReplays, listReplays } from '../../src/http/keyed/replay-counter.ts'
import { doOnce } from '../../src/http/keyed/keyed-locally.ts'
import { deleteKeys } from '../../src/db/idempotency/reserve-keys.ts'
import { noResource } from '../../src/db/idempotency/intent.ts'
import * as payments from '../../src/db/payments/payments.ts'
import { insertDispute, selectDispute } from '../../src/db/payments/disputes.ts'
import { insertRefunds, lockRefundIfIn } from '../../src/db/payments/refunds.ts'
import * as leases from '../../src/db/operations/leases.ts'
import { readOperation, readOperationState } from '../../src/db/operations/operation-rows.ts'
import { EARLY_FRAUD_WARNING } from '../../src/domain/events/event-types.ts'
import {
  type Writes,
  type PhaseToRecord,
  recordEach,
} from '../../src/db/operations/record-phases.ts'
import { appendPhaseRuns, listPhaseRuns } from '../../src/db/operations/phase-runs.ts'
import * as requestedChecks from '../../src/db/operations/requested-checks.ts'
import { takeDueChecks, postponeCheckIfUnknown } from '../../src/recovery/due-checks.ts'
import { dropEvidenceIfSame } from '../../src/recovery/verdicts.ts'
import { claimUnknownRow } from '../../src/recovery/outcome-resolver.ts'
import * as reaper from '../../src/recovery/reaper.ts'
import { closeFindingsOfIdle, openFindingsOfStuck } from '../../src/recovery/stuck-outcomes.ts'
import * as sweeper from '../../src/recovery/sweeper.ts'
import { writesOfDispute } from '../../src/domain/payments/dispute.ts'
import { reminderOf } from '../../src/domain/events/provider-event.ts'
import { entryOfCapture, entryOfRefund } from '../../src/domain/ledger/ledger.ts'
import { paymentAfter } from '../../src/domain/payments/payment.ts'
import { refundAfter } from '../../src/domain/payments/refund.ts'
import {
  type Example,
  CHECK_DELAYS_SECONDS,
  claim,
  dispute,
  disputeRow,
  example,
  ID,
  intent,
  KEY,
  LEASE_MS,
  LIMIT,
  localReservation,
  NOW,
  overview,
  payment,
  paymentRow,
  phaseRun,
  queued,
  queuedEvent,
  REF,
  refund,
  refundRow,
  repeatRule,
  RESPONSE,
  RETENTION_SECONDS,
  subscriber,
  TRACEPARENT,
  WRITTEN,
  writtenEvent,
} from './example.ts'

const LEDGER_ID = { id: ID }

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
const newDispute = { providerDisputeId: 'du_1', openedAt: NOW, providerStatus: dispute }
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

const idempotencyExamples: readonly Example[] = [
  example(idempotencyKeys.countActiveKeys, [ID, LIMIT]),
  example(idempotencyKeys.countStoredKeys, [ID, LIMIT]),
  example(dropResponses, [[overview], 'ietf']),
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
  example(deleteKeys, [ID, [REF]]),
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
  example(findSecondsUntilStart, [REF], [[{ job: ID }]]),
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
    reaper.deleteExpiredKeys,
    [LIMIT],
    [
      [REF],
      [
        {
          key: KEY,
          payment_id: REF.id,
          refund_id: null,
          expired_at: NOW.toISOString(),
          location: null,
        },
      ],
    ],
  ),
  example(reaper.timeOutIfAbandoned, [RESPONSE, BY_OPERATION]),
  example(reaper.completeIfOvertaken, [RESPONSE, BY_OPERATION]),
  example(
    reaper.reportAbandoned,
    [BY_OPERATION],
    [[{ ...REF, paymentId: ID }], [{ id: ID, provider: 'stripe' }]],
  ),
  example(idempotencyKeys.findTombstones, [ID, [{ key: KEY }]]),
  example(idempotencyKeys.findTombstone, [ID, KEY]),
  example(reaper.deleteOldTombstones, [BATCH]),
  example(
    doOnce,
    [localReservation, () => Promise.resolve(RESPONSE)],
    [[reserved], [], [reserved]],
  ),
]

const ADVANCE = { kind: 'advance', to: 'authorized', leaseMs: LEASE_MS } as const
const FINISH = { kind: 'finish', response: RESPONSE, retentionSeconds: RETENTION_SECONDS } as const
const recorded = (move: PhaseToRecord['move'], writes: Writes): PhaseToRecord => ({
  claim,
  move,
  record: { tries: [phaseRun], writes },
})

const captured = paymentAfter(payment, { status: 'succeeded' })
const refunded = refundAfter(refund, { status: 'succeeded' })
const withdrawn = { ...dispute, withdrawnMinor: 1999 }

const FINDING = { id: ID, kind: 'outcome_unknown', tenant: ID, operation: ID }

const OF_OPERATION = { tenantId: ID, operationId: ID }

const operationExamples: readonly Example[] = [
  example(
    leases.claimEachIfUnowned,
    [[REF], LEASE_MS],
    [[{ id: ID, tenant_id: ID, payment_id: ID, refund_id: ID, dispute_id: ID }]],
  ),
  example(readOperation, [REF]),
  example(leases.readUnknownFor, [REF]),
  example(readOperationState, [REF]),
  example(leases.renewIfOwner, [claim, LEASE_MS]),
  example(leases.giveBackIfOwner, [
    claim,
    {
      status: 'unknown',
      inDoubt: true,
      reason: 'timeout',
      checkDelaysSeconds: CHECK_DELAYS_SECONDS,
    },
  ]),
  example(leases.dropFallbackIfOwner, [claim]),
  example(leases.enqueueRetry, [REF], [[queued]]),
  example(leases.recordStoredFailureIfOwner, [claim, true]),
  example(leases.handOverIfOwner, [claim, true, TRACEPARENT], [[queued]]),
  example(recordEach, [[recorded(ADVANCE, {})]], WRITTEN),
  example(
    recordEach,
    [
      [
        recorded(FINISH, {
          payment: captured,
          ledger: [entryOfCapture(captured, claim.fees)],
          reminder: reminderOf(payment, NOW),
        }),
      ],
    ],
    [
      ...WRITTEN,
      [subscriber],
      [LEDGER_ID],
      [paymentRow],
      [],
      [],
      [queuedEvent],
      [],
      [writtenEvent],
    ],
  ),
  example(
    recordEach,
    [[recorded(FINISH, { refund: refunded, ledger: [entryOfRefund(refunded)] })]],
    [...WRITTEN, [], [LEDGER_ID], [refundRow], [], [], ...WRITTEN],
  ),
  example(
    recordEach,
    [[recorded(FINISH, writesOfDispute(dispute, withdrawn))]],
    [...WRITTEN, [], [LEDGER_ID], [disputeRow]],
  ),
  example(
    recordEach,
    [[recorded(FINISH, { announces: EARLY_FRAUD_WARNING, stores: { description: 'stored' } })]],
    [...WRITTEN, [], [], [], [paymentRow]],
  ),
  example(appendPhaseRuns, [[{ owner: claim, tries: [phaseRun] }]]),
  example(listPhaseRuns, (_, store) => listPhaseRuns(store, ID, ID)),
  example(sweeper.findExpired, [repeatRule, { isRepeatable: true, limit: LIMIT }]),
  example(sweeper.requeueIfExpired, [[REF]], [[queued]]),
  example(sweeper.markUnknownIfExpired, [REF, CHECK_DELAYS_SECONDS], WRITTEN),
  example(sweeper.requeueIfJobless, [REF], [[queued], [], [queued]]),
  example(
    sweeper.deleteObsoleteDeadLetters,
    [],
    [[{ id: ID, ...OF_OPERATION }], [{ ...OF_OPERATION, status: 'completed' }]],
  ),
  example(sweeper.deadLetterOrphanedJobs, [], [[{ id: ID, ...OF_OPERATION }], [], [{ data: {} }]]),
  example(takeDueChecks, [CHECK_DELAYS_SECONDS, LIMIT], [[REF], [REF]]),
  example(postponeCheckIfUnknown, [claim]),
  example(openFindingsOfStuck, [
    {
      lastDelaySeconds: 60,
      unprovable: [{ operation: 'refund.create', recoveryPoint: 'started' }],
      limits: [{ provider: 'stripe', settleSeconds: 30, keyWindowSeconds: 3_600 }],
      afterMs: 30_000,
    },
  ]),
  example(closeFindingsOfIdle, [], [[FINDING], [{ id: ID, status: 'completed' }]]),
  example(requestedChecks.requestCheckOfPayment, [
    { tenantId: ID, paymentId: ID },
    { seconds: 60, mostSeconds: 600 },
  ]),
  example(requestedChecks.requestCheckIfUnknown, [REF]),
  example(claimUnknownRow, [claim, LEASE_MS], WRITTEN),
  example(dropEvidenceIfSame, [REF, { claim: ID, by: 'alice', note: '' }]),
]

export const operationsExamples: readonly Example[] = [...idempotencyExamples, ...operationExamples]
