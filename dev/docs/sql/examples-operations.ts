// Examples of the statements on idempotency keys and on operations.
import { countActiveKeys, countStoredKeys } from '../../../src/db/idempotency/count-keys.ts'
import { dropResponseIfCompleted } from '../../../src/db/idempotency/dropped-responses.ts'
import { findEach, findIdle, reopenIfFailed } from '../../../src/db/idempotency/idempotency-keys.ts'
import { noResource, reserveEach } from '../../../src/db/idempotency/intents.ts'
import {
  deleteIfTombstoned,
  insertTombstones,
  keepIfPartlyExecuted,
  completeIfOvertaken,
  timeOutIfAbandoned,
} from '../../../src/db/idempotency/key-expiry.ts'
import { addReplays, listReplays } from '../../../src/db/idempotency/key-replays.ts'
import { deleteOldTombstones, findTombstone } from '../../../src/db/idempotency/key-tombstones.ts'
import { doOnce } from '../../../src/db/idempotency/local-operations.ts'
import {
  claimEachIfUnowned,
  enqueueRetry,
  giveBackIfOwner,
  handOverIfOwner,
  recordKeptFailureIfOwner,
  renewIfOwner,
} from '../../../src/db/operations/leases.ts'
import { readOperation, readOperationState } from '../../../src/db/operations/operation-rows.ts'
import type { Writes } from '../../../src/db/operations/phase-records.ts'
import { recordEach, type PhaseToRecord } from '../../../src/db/operations/record-phases.ts'
import { appendPhaseRuns, listPhaseRuns } from '../../../src/db/operations/phase-runs.ts'
import {
  deadLetterOrphanedJobs,
  deleteObsoleteDeadLetters,
  findUnrepeatable,
  parkIfExpired,
  requeueIfJobless,
  resumeIfExpired,
} from '../../../src/db/operations/sweeper.ts'
import {
  closeFindingsOfIdle,
  openFindingsOfStuck,
} from '../../../src/db/operations/unknown-outcome-findings.ts'
import {
  claimDueChecks,
  claimIfUnknown,
  dropEvidenceIfSame,
  giveBackInDoubtIfOwner,
  postponeCheckIfUnknown,
  requestCheckIfUnknown,
  requestCheckOfPayment,
} from '../../../src/db/operations/unknown-outcomes.ts'
import {
  detailsOfPayment,
  insertPayments,
  markProcessingIfIn,
} from '../../../src/db/payments/payments.ts'
import { insertDispute, selectDispute } from '../../../src/db/payments/disputes.ts'
import { detailsOfRefund, insertRefunds, lockRefundIfIn } from '../../../src/db/payments/refunds.ts'
import { writesOfDispute } from '../../../src/domain/payments/dispute-changes.ts'
import { reminderOf } from '../../../src/domain/events/provider-event.ts'
import { entryOfCapture, entryOfRefund } from '../../../src/domain/ledger/ledger.ts'
import { paymentAfter } from '../../../src/domain/payments/payment.ts'
import { refundAfter } from '../../../src/domain/payments/refund.ts'
import { example, type Example } from './example.ts'
import {
  CHECK_DELAYS_SECONDS,
  claim,
  dispute,
  ID,
  intent,
  KEY,
  LEASE_MS,
  LIMIT,
  localReservation,
  NOW,
  overview,
  payment,
  phaseRun,
  REF,
  refund,
  repeatRule,
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
const disputeIntent = { ...intent, operation: 'dispute.follow', disputeId: ID }
const newDispute = { providerDisputeId: 'du_1', openedAt: NOW, standing: dispute }
/** The reservation was successful. */
const RESERVED = { answers: [[{ asked_id: intent.id, id: ID, tenant_id: ID, key: KEY }]] }

const ADVANCE = { kind: 'advance', to: 'authorized', leaseMs: LEASE_MS } as const
const FINISH = { kind: 'finish', response: RESPONSE, retentionSeconds: RETENTION_SECONDS } as const
const recorded = (move: PhaseToRecord['move'], writes: Writes): PhaseToRecord => ({
  claim,
  move,
  record: { runs: [phaseRun], writes },
})

const captured = paymentAfter(payment, { status: 'succeeded' })
const refunded = refundAfter(refund, { status: 'succeeded' })
const refundIntent = {
  ...intent,
  refundId: ID,
  details: detailsOfRefund({ amountMinor: 500, reason: null, metadata: {} }),
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
      variant: 'For new payments. The next variants differ in the part `resource`.',
    },
  ),
  example(
    reserveEach,
    (sql) => reserveEach(sql, [intent], markProcessingIfIn(sql, ['requires_capture'])),
    { ...RESERVED, variant: 'For an operation on an existing payment, such as a capture.' },
  ),
  example(reserveEach, (sql) => reserveEach(sql, [refundIntent], insertRefunds(sql)), {
    ...RESERVED,
    variant: 'For a new refund.',
  }),
  example(
    reserveEach,
    (sql) => reserveEach(sql, [refundIntent], lockRefundIfIn(sql, ['succeeded'])),
    { ...RESERVED, variant: 'For an operation on an existing refund.' },
  ),
  example(reserveEach, (sql) => reserveEach(sql, [disputeIntent], insertDispute(sql, newDispute)), {
    ...RESERVED,
    variant: 'For a dispute that is new here.',
  }),
  example(reserveEach, (sql) => reserveEach(sql, [disputeIntent], selectDispute(sql)), {
    ...RESERVED,
    variant: 'For a known dispute.',
  }),
  example(reserveEach, (sql) => reserveEach(sql, [intent], noResource(sql)), {
    ...RESERVED,
    variant: 'For an operation with an amount that the provider does not accept.',
  }),
  example(findEach, (sql) => findEach(sql, [{ tenantId: ID, key: KEY }])),
  example(addReplays, (sql) => addReplays(sql, [replayCount])),
  example(listReplays, (sql) => listReplays(sql, ID, [ID])),
  example(findIdle, (sql) => findIdle(sql, [REF])),
  example(reopenIfFailed, (sql) => reopenIfFailed(sql, REF, TRACEPARENT)),
  example(insertTombstones, (sql) => insertTombstones(sql, { limit: LIMIT }), {
    answers: [[{ looked_at: 0 }]],
  }),
  example(deleteIfTombstoned, (sql) =>
    deleteIfTombstoned(sql, { limit: LIMIT, statementTimeoutMs: 5_000 }),
  ),
  example(timeOutIfAbandoned, (sql) => timeOutIfAbandoned(sql, RESPONSE, BATCH)),
  example(completeIfOvertaken, (sql) => completeIfOvertaken(sql, RESPONSE, BATCH)),
  example(keepIfPartlyExecuted, (sql) => keepIfPartlyExecuted(sql, BATCH)),
  example(findTombstone, (sql) => findTombstone(sql, ID, KEY)),
  example(deleteOldTombstones, (sql) => deleteOldTombstones(sql, BATCH)),
  example(doOnce, (sql) => doOnce(sql, localReservation, () => Promise.resolve(RESPONSE)), {
    answers: [[{ id: ID }], [{ tenant_id: localReservation.tenantId, key: KEY }]],
    variant: 'The statements of the work itself come before the update.',
  }),
]

export const operationExamples: readonly Example[] = [
  example(claimEachIfUnowned, (sql) => claimEachIfUnowned(sql, [{ ref: REF, leaseMs: LEASE_MS }])),
  example(readOperation, (sql) => readOperation(sql, REF)),
  example(readOperationState, (sql) => readOperationState(sql, REF)),
  example(renewIfOwner, (sql) => renewIfOwner(sql, claim, LEASE_MS)),
  example(giveBackIfOwner, (sql) =>
    giveBackIfOwner(sql, claim, {
      status: 'unknown',
      inDoubt: true,
      reason: 'timeout',
      checkDelaysSeconds: CHECK_DELAYS_SECONDS,
    }),
  ),
  example(enqueueRetry, (sql) => enqueueRetry(sql, REF)),
  example(recordKeptFailureIfOwner, (sql) => recordKeptFailureIfOwner(sql, claim, true)),
  example(handOverIfOwner, (sql) => handOverIfOwner(sql, claim, true, TRACEPARENT)),
  example(recordEach, (sql) => recordEach(sql, [recorded(ADVANCE, {})]), {
    variant:
      'Advances operations whose phases change no resource. Phases that change one have the further parts that the next statements show.',
  }),
  example(
    recordEach,
    (sql) =>
      recordEach(sql, [
        recorded(FINISH, {
          payment: captured,
          ledger: [entryOfCapture(captured, claim.fees)],
          reminder: reminderOf(payment, NOW),
        }),
      ]),
    {
      variant:
        'Finishes operations on payments, with everything that a phase can write. Without ledger entries the part `postings` is absent, without reminders `stored` and `stored_job`, without new statuses `event`, `delivery` and `delivery_job`.',
    },
  ),
  example(
    recordEach,
    (sql) =>
      recordEach(sql, [
        recorded(FINISH, writesOfDispute(dispute, { ...dispute, withdrawnMinor: 1999 })),
      ]),
    { variant: 'Finishes an operation on a dispute.' },
  ),
  example(
    recordEach,
    (sql) =>
      recordEach(sql, [recorded(FINISH, { refund: refunded, ledger: [entryOfRefund(refunded)] })]),
    { variant: 'Finishes operations on refunds, with ledger entries.' },
  ),
  example(appendPhaseRuns, (sql) => appendPhaseRuns(sql, claim, [phaseRun])),
  example(listPhaseRuns, (_, store) => listPhaseRuns(store, ID, ID)),
  example(resumeIfExpired, (sql) => resumeIfExpired(sql, repeatRule, LIMIT, REF), {
    variant: 'For one operation. For all, the condition on its ids is absent.',
  }),
  example(findUnrepeatable, (sql) => findUnrepeatable(sql, repeatRule, LIMIT)),
  example(parkIfExpired, (sql) => parkIfExpired(sql, REF, CHECK_DELAYS_SECONDS)),
  example(requeueIfJobless, (sql) => requeueIfJobless(sql, REF), {
    variant: 'For one operation. For all, the condition on its ids is absent.',
  }),
  example(deleteObsoleteDeadLetters, (sql) => deleteObsoleteDeadLetters(sql)),
  example(deadLetterOrphanedJobs, (sql) => deadLetterOrphanedJobs(sql)),
  example(claimDueChecks, (sql) => claimDueChecks(sql, CHECK_DELAYS_SECONDS, LIMIT)),
  example(postponeCheckIfUnknown, (sql) => postponeCheckIfUnknown(sql, claim, 5)),
  example(
    openFindingsOfStuck,
    (sql) =>
      openFindingsOfStuck(sql, {
        lastDelaySeconds: 60,
        unprovable: [{ operation: 'refund.create', recoveryPoint: 'started' }],
        settleSeconds: 30,
        keyWindowSeconds: 3_600,
        afterMs: 30_000,
      }),
    { variant: 'The findings are then written by `openFindings`.' },
  ),
  example(closeFindingsOfIdle, (sql) => closeFindingsOfIdle(sql)),
  example(requestCheckOfPayment, (sql) =>
    requestCheckOfPayment(sql, { tenantId: ID, paymentId: ID }, { seconds: 60, mostSeconds: 600 }),
  ),
  example(requestCheckIfUnknown, (sql) => requestCheckIfUnknown(sql, REF)),
  example(claimIfUnknown, (sql) => claimIfUnknown(sql, claim, LEASE_MS)),
  example(dropEvidenceIfSame, (sql) => dropEvidenceIfSame(sql, REF, { by: 'alice', note: '' })),
  example(giveBackInDoubtIfOwner, (sql) => giveBackInDoubtIfOwner(sql, claim, 'not looked up')),
]
