// Mutants of what keeps one worker at a time on an operation: lease, epoch, recovery point,
// sweeper.
import { KEYLESS_UNTIL_A_LOOK, NO_UNIQUE_STEPS, type Mutant } from './mutant.ts'

export const mutantsOfLeases: readonly Mutant[] = [
  {
    name: 'no-fencing-by-lease-epoch',
    breaks: 'A worker whose lease expired still writes after its successor has begun.',
    patches: [
      {
        file: 'src/db/operations/fence.ts',
        text: ' and lease_epoch = ${fence.leaseEpoch}\n',
        replacement: '\n',
      },
    ],
    // The zombie is suspended before the first statement of its transaction, which must not time out.
    circumstances: { settings: { STORE_TIMEOUT_MS: '20000' } },
    caughtBy: 6,
    shownBy: [
      'payment.create:zombie@worker/advance/NoData#1/before+overtake@worker/provider-authorize/request#2/before',
      'refund.create:zombie@worker/finish/NoData#1/before+overtake@worker/provider-refund/request#2/before',
    ],
  },
  {
    name: 'no-guard-by-recovery-point',
    breaks: 'A step is recorded again when the acknowledgment of its record is lost.',
    patches: [
      {
        file: 'src/db/operations/fence.ts',
        text: 'and recovery_point = ${fence.recoveryPoint} and lease_epoch',
        replacement: 'and lease_epoch',
      },
    ],
    schema: NO_UNIQUE_STEPS,
    caughtBy: 6,
    shownBy: [
      'payment.create:reset@worker/commit-advance/ReadyForQuery#1/before+reset@worker/select-idempotency_keys/Parse#1/before',
    ],
  },
  {
    name: 'epoch-not-raised-at-a-claim',
    breaks: 'A worker that takes over an operation has the epoch of the previous owner.',
    patches: [
      {
        file: 'src/db/operations/leases.ts',
        text: 'lease_epoch = lease_epoch + 1',
        replacement: 'lease_epoch = greatest(lease_epoch, 1)',
      },
    ],
    caughtBy: 6,
    shownBy: ['payment.create:SIGKILL@worker/provider-capture/reply#1/before'],
  },
  {
    name: 'a-take-over-begins-anew',
    breaks: 'A claim takes the operation back to its first recovery point.',
    patches: [
      {
        file: 'src/db/operations/leases.ts',
        text: 'attempts = attempts + 1',
        replacement: "attempts = attempts + 1, recovery_point = 'started'",
      },
    ],
    schema: NO_UNIQUE_STEPS,
    caughtBy: 6,
    shownBy: ['payment.create:SIGKILL@worker/provider-capture/reply#1/before'],
  },
  {
    name: 'a-job-is-enough-to-claim',
    breaks: 'A worker with the job of an operation takes it from a worker that has the same job.',
    patches: [
      {
        file: 'src/db/operations/leases.ts',
        text: "and (status = 'pending' or (status = 'processing' and lease_expires_at < now()))",
        replacement: "and (status in ('pending', 'processing'))",
      },
    ],
    circumstances: KEYLESS_UNTIL_A_LOOK,
    caughtBy: 1,
    shownBy: ['payment.create~keyless:job-twice@worker/fetch-operations/CommandComplete#1/before'],
  },
  {
    name: 'sweeper-takes-leases-that-have-not-run-out',
    breaks: 'An operation in progress is given to a second worker.',
    patches: [
      {
        file: 'src/db/operations/sweeper.ts',
        text: ' and lease_expires_at < now()\n      and ${rule ===',
        replacement: '\n      and ${rule ===',
      },
      {
        file: 'src/db/operations/sweeper.ts',
        text: ' and lease_expires_at < now()\n    returning ${queuedColumns(tx)}',
        replacement: '\n    returning ${queuedColumns(tx)}',
      },
    ],
    // The sweeper must come while the call still waits for its answer.
    circumstances: { settings: { ...KEYLESS_UNTIL_A_LOOK.settings, SWEEP_INTERVAL_MS: '100' } },
    caughtBy: 1,
    shownBy: ['payment.create~keyless:stall@worker/provider-authorize/reply#1/before'],
  },
]
