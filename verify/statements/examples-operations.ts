// Examples of the statements on operations.
import {
  claimEachIfUnowned,
  enqueueRetry,
  dropFallbackIfOwner,
  giveBackIfOwner,
  handOverIfOwner,
  readUnknownFor,
  recordKeptFailureIfOwner,
  renewIfOwner,
} from '../../src/db/operations/leases.ts'
import { readOperation, readOperationState } from '../../src/db/operations/operation-rows.ts'
import { EARLY_FRAUD_WARNING } from '../../src/domain/events/event-types.ts'
import type { Writes } from '../../src/db/operations/phase-records.ts'
import { recordEach, type PhaseToRecord } from '../../src/db/operations/record-phases.ts'
import { appendPhaseRuns, listPhaseRuns } from '../../src/db/operations/phase-runs.ts'
import {
  deadLetterOrphanedJobs,
  deleteObsoleteDeadLetters,
  findUnrepeatable,
  parkIfExpired,
  requeueIfJobless,
  resumeIfExpired,
} from '../../src/db/operations/sweeper.ts'
import {
  closeFindingsOfIdle,
  openFindingsOfStuck,
} from '../../src/db/operations/unknown-outcome-findings.ts'
import {
  claimDueChecks,
  claimIfUnknown,
  dropEvidenceIfSame,
  giveBackInDoubtIfOwner,
  postponeCheckIfUnknown,
  requestCheckIfUnknown,
  requestCheckOfPayment,
} from '../../src/db/operations/unknown-outcomes.ts'
import { writesOfDispute } from '../../src/domain/payments/dispute-changes.ts'
import { reminderOf } from '../../src/domain/events/provider-event.ts'
import { entryOfCapture, entryOfRefund } from '../../src/domain/ledger/ledger.ts'
import { paymentAfter } from '../../src/domain/payments/payment.ts'
import { refundAfter } from '../../src/domain/payments/refund.ts'
import { example, type Example, WITH_DELIVERY, WRITTEN } from './example.ts'
import {
  CHECK_DELAYS_SECONDS,
  claim,
  dispute,
  disputeRow,
  ID,
  LEASE_MS,
  LIMIT,
  NOW,
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
  TRACEPARENT,
} from './example-values.ts'

const ADVANCE = { kind: 'advance', to: 'authorized', leaseMs: LEASE_MS } as const
const FINISH = { kind: 'finish', response: RESPONSE, retentionSeconds: RETENTION_SECONDS } as const
const recorded = (move: PhaseToRecord['move'], writes: Writes): PhaseToRecord => ({
  claim,
  move,
  record: { runs: [phaseRun], writes },
})

const captured = paymentAfter(payment, { status: 'succeeded' })
const refunded = refundAfter(refund, { status: 'succeeded' })
const withdrawn = { ...dispute, withdrawnMinor: 1999 }

const FINDING = { id: ID, kind: 'outcome_unknown', tenant: ID, operation: ID }

export const operationExamples: readonly Example[] = [
  example(claimEachIfUnowned, (sql) => claimEachIfUnowned(sql, [REF], LEASE_MS), {
    answers: [[{ id: ID, tenant_id: ID, payment_id: ID, refund_id: ID, dispute_id: ID }]],
  }),
  example(readOperation, (sql) => readOperation(sql, REF)),
  example(readUnknownFor, (sql) => readUnknownFor(sql, REF)),
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
  example(dropFallbackIfOwner, (sql) => dropFallbackIfOwner(sql, claim)),
  example(enqueueRetry, (sql) => enqueueRetry(sql, REF), { answers: [[queued]] }),
  example(recordKeptFailureIfOwner, (sql) => recordKeptFailureIfOwner(sql, claim, true)),
  example(handOverIfOwner, (sql) => handOverIfOwner(sql, claim, true, TRACEPARENT), {
    answers: [[queued]],
  }),
  example(recordEach, (sql) => recordEach(sql, [recorded(ADVANCE, {})]), { answers: WRITTEN }),
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
      answers: [...WRITTEN, [paymentRow], [], [], [queuedEvent], [], ...WITH_DELIVERY],
    },
  ),
  example(
    recordEach,
    (sql) =>
      recordEach(sql, [recorded(FINISH, { refund: refunded, ledger: [entryOfRefund(refunded)] })]),
    { answers: [...WRITTEN, [refundRow], [], [], ...WRITTEN] },
  ),
  example(
    recordEach,
    (sql) => recordEach(sql, [recorded(FINISH, writesOfDispute(dispute, withdrawn))]),
    { answers: [...WRITTEN, [disputeRow]] },
  ),
  example(
    recordEach,
    (sql) => recordEach(sql, [recorded(FINISH, { announces: EARLY_FRAUD_WARNING })]),
    { answers: [...WRITTEN, [paymentRow]] },
  ),
  example(appendPhaseRuns, (sql) => appendPhaseRuns(sql, [{ owner: claim, runs: [phaseRun] }])),
  example(listPhaseRuns, (_, store) => listPhaseRuns(store, ID, ID)),
  example(resumeIfExpired, (sql) => resumeIfExpired(sql, repeatRule, LIMIT, REF), {
    answers: [[REF], [queued]],
  }),
  example(findUnrepeatable, (sql) => findUnrepeatable(sql, repeatRule, LIMIT)),
  example(parkIfExpired, (sql) => parkIfExpired(sql, REF, CHECK_DELAYS_SECONDS), {
    answers: WRITTEN,
  }),
  example(requeueIfJobless, (sql) => requeueIfJobless(sql, REF), {
    answers: [[queued], [], [queued]],
  }),
  example(deleteObsoleteDeadLetters, (sql) => deleteObsoleteDeadLetters(sql)),
  example(deadLetterOrphanedJobs, (sql) => deadLetterOrphanedJobs(sql), {
    answers: [[{ id: ID, tenantId: ID, operationId: ID }], [], [{ data: {} }]],
  }),
  example(claimDueChecks, (sql) => claimDueChecks(sql, CHECK_DELAYS_SECONDS, LIMIT), {
    answers: [[REF], [REF]],
  }),
  example(postponeCheckIfUnknown, (sql) => postponeCheckIfUnknown(sql, claim, 5)),
  example(openFindingsOfStuck, (sql) =>
    openFindingsOfStuck(sql, {
      lastDelaySeconds: 60,
      unprovable: [{ operation: 'refund.create', recoveryPoint: 'started' }],
      limits: [{ provider: 'stripe', settleSeconds: 30, keyWindowSeconds: 3_600 }],
      afterMs: 30_000,
    }),
  ),
  example(closeFindingsOfIdle, (sql) => closeFindingsOfIdle(sql), {
    answers: [[FINDING], [{ id: ID, status: 'completed' }]],
  }),
  example(requestCheckOfPayment, (sql) =>
    requestCheckOfPayment(sql, { tenantId: ID, paymentId: ID }, { seconds: 60, mostSeconds: 600 }),
  ),
  example(requestCheckIfUnknown, (sql) => requestCheckIfUnknown(sql, REF)),
  example(claimIfUnknown, (sql) => claimIfUnknown(sql, claim, LEASE_MS), { answers: WRITTEN }),
  example(dropEvidenceIfSame, (sql) =>
    dropEvidenceIfSame(sql, REF, { claim: ID, by: 'alice', note: '' }),
  ),
  example(giveBackInDoubtIfOwner, (sql) =>
    giveBackInDoubtIfOwner(sql, claim, { reason: 'not looked up', retentionSeconds: 86_400 }),
  ),
]
