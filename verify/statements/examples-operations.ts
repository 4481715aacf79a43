// Examples of the statements on operations.
import * as leases from '../../src/db/operations/leases.ts'
import { readOperation, readOperationState } from '../../src/db/operations/operation-rows.ts'
import { EARLY_FRAUD_WARNING } from '../../src/domain/events/event-types.ts'
import type { Writes } from '../../src/db/operations/phase-records.ts'
import { type PhaseToRecord, recordEach } from '../../src/db/operations/record-phases.ts'
import { appendPhaseRuns, listPhaseRuns } from '../../src/db/operations/phase-runs.ts'
import * as sweeper from '../../src/db/operations/sweeper.ts'
import * as unknownOutcomes from '../../src/db/operations/unknown-outcomes.ts'
import { writesOfDispute } from '../../src/domain/payments/dispute.ts'
import { reminderOf } from '../../src/domain/events/provider-event.ts'
import { entryOfCapture, entryOfRefund } from '../../src/domain/ledger/ledger.ts'
import { paymentAfter } from '../../src/domain/payments/payment.ts'
import { refundAfter } from '../../src/domain/payments/refund.ts'
import type { Example } from './example.ts'
import {
  CHECK_DELAYS_SECONDS,
  claim,
  dispute,
  disputeRow,
  example,
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
  WITH_DELIVERY,
  WRITTEN,
} from './example.ts'

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
  example(
    leases.claimEachIfUnowned,
    [[REF], LEASE_MS],
    [[{ id: ID, tenant_id: ID, payment_id: ID, refund_id: ID, dispute_id: ID }]],
  ),
  example(readOperation, [REF]),
  example(leases.readUnknownFor, [REF]),
  example(readOperationState, [REF]),
  example(leases.readLastError, [REF]),
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
  example(leases.recordKeptFailureIfOwner, [claim, true]),
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
    [...WRITTEN, [paymentRow], [], [], [queuedEvent], [], ...WITH_DELIVERY],
  ),
  example(
    recordEach,
    [[recorded(FINISH, { refund: refunded, ledger: [entryOfRefund(refunded)] })]],
    [...WRITTEN, [refundRow], [], [], ...WRITTEN],
  ),
  example(
    recordEach,
    [[recorded(FINISH, writesOfDispute(dispute, withdrawn))]],
    [...WRITTEN, [disputeRow]],
  ),
  example(
    recordEach,
    [[recorded(FINISH, { announces: EARLY_FRAUD_WARNING })]],
    [...WRITTEN, [paymentRow]],
  ),
  example(appendPhaseRuns, [[{ owner: claim, runs: [phaseRun] }]]),
  example(listPhaseRuns, (_, store) => listPhaseRuns(store, ID, ID)),
  example(sweeper.resumeIfExpired, [repeatRule, LIMIT, REF], [[REF], [queued]]),
  example(sweeper.findUnrepeatable, [repeatRule, LIMIT]),
  example(sweeper.parkIfExpired, [REF, CHECK_DELAYS_SECONDS], WRITTEN),
  example(sweeper.requeueIfJobless, [REF], [[queued], [], [queued]]),
  example(sweeper.deleteObsoleteDeadLetters, []),
  example(
    sweeper.deadLetterOrphanedJobs,
    [],
    [[{ id: ID, tenantId: ID, operationId: ID }], [], [{ data: {} }]],
  ),
  example(unknownOutcomes.claimDueChecks, [CHECK_DELAYS_SECONDS, LIMIT], [[REF], [REF]]),
  example(unknownOutcomes.postponeCheckIfUnknown, [claim, 5]),
  example(unknownOutcomes.openFindingsOfStuck, [
    {
      lastDelaySeconds: 60,
      unprovable: [{ operation: 'refund.create', recoveryPoint: 'started' }],
      limits: [{ provider: 'stripe', settleSeconds: 30, keyWindowSeconds: 3_600 }],
      afterMs: 30_000,
    },
  ]),
  example(unknownOutcomes.closeFindingsOfIdle, [], [[FINDING], [{ id: ID, status: 'completed' }]]),
  example(unknownOutcomes.requestCheckOfPayment, [
    { tenantId: ID, paymentId: ID },
    { seconds: 60, mostSeconds: 600 },
  ]),
  example(unknownOutcomes.requestCheckIfUnknown, [REF]),
  example(unknownOutcomes.claimIfUnknown, [claim, LEASE_MS], WRITTEN),
  example(unknownOutcomes.dropEvidenceIfSame, [REF, { claim: ID, by: 'alice', note: '' }]),
  example(unknownOutcomes.giveBackInDoubtIfOwner, [
    claim,
    { reason: 'not looked up', retentionSeconds: 86_400 },
  ]),
]
