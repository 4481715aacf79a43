// Mutants of the idempotency key: how it is reserved, compared, replayed, retried and reaped.
import {
  CHECK_THEN_INSERT,
  KEYLESS_UNTIL_A_LOOK,
  NO_UNIQUE_KEY,
  type Circumstances,
  type Mutant,
} from './mutant.ts'

/** Slows inserts down, so that each of two concurrent requests looks before the other commits. */
const SLOW_INSERTS: readonly string[] = [
  `create function fault_suite_dawdle() returns trigger language plpgsql as $$
    begin perform pg_sleep(0.8); return new; end $$`,
  `create trigger fault_suite_dawdle before insert on idempotency_keys
    for each row execute function fault_suite_dawdle()`,
]

/** The outcome resolver waits, so that clients retry before it looks. */
const SLOW_RESOLVER: Circumstances = {
  ...KEYLESS_UNTIL_A_LOOK,
  settings: {
    ...KEYLESS_UNTIL_A_LOOK.settings,
    CHECK_DELAYS_SECONDS: '4,6,8',
    CHECK_ON_READ_SECONDS: '3',
  },
}

export const mutantsOfKeys: readonly Mutant[] = [
  {
    name: 'check-then-insert',
    breaks: 'Two concurrent requests with one key both find it free.',
    patches: [CHECK_THEN_INSERT],
    schema: [NO_UNIQUE_KEY, ...SLOW_INSERTS],
    caughtBy: 1,
    shownBy: ['payment.create.at-once'],
  },
  {
    name: 'commit-error-taken-for-a-failure',
    breaks: 'A lost acknowledgment is answered as a final refusal, although the payment is made.',
    patches: [
      {
        file: 'src/http/keyed/keyed-endpoint.ts',
        text: 'if (!isPassing(error) || tries === RESERVE_TRIES) throw error',
        replacement: "if (tries > 0) throw new ProblemError('invalid-state', { cause: error })",
      },
    ],
    caughtBy: 3,
    shownBy: ['payment.create:reset@api/commit-reserve/ReadyForQuery#1/before'],
  },
  {
    name: 'fingerprint-not-compared',
    breaks: 'A different request with a used key gets the result of the first.',
    patches: [
      {
        file: 'src/http/keyed/keyed-answer.ts',
        text: 'isSameRequest(key, fingerprints)) return',
        replacement: 'isSameRequest(key, fingerprints) || key.id !== undefined) return',
      },
    ],
    caughtBy: 3,
    shownBy: ['payment.create.reused-key'],
  },
  {
    name: 'replay-rendered-anew',
    breaks: 'A retry gets the resource as it is now, not the stored bytes.',
    patches: [
      {
        file: 'src/http/keyed/keyed-answer.ts',
        text: 'const stored = replay(key, key.response, role)',
        replacement: `const isOwner = role === 'owner'
    const shown = isOwner
      ? key.response
      : await route.showUnfinished(parts, { key, resource: null })
    const stored = replay(key, { ...key.response, body: shown.body }, role)`,
      },
    ],
    caughtBy: 3,
    shownBy: ['refund.create'],
  },
  {
    name: 'server-error-stored-as-final',
    breaks: 'When the attempts are used up, the failure becomes the final answer of the key.',
    patches: [
      {
        file: 'src/engine/run-phases.ts',
        text: "import { appendPhaseRuns } from '../db/operations/phase-runs.ts'\n",
        replacement:
          "import { appendPhaseRuns } from '../db/operations/phase-runs.ts'\n" +
          "import { recordEach } from '../db/operations/record-phases.ts'\n",
      },
      {
        file: 'src/engine/run-phases.ts',
        text: '  const checkDelaysSeconds = engine.settings.CHECK_DELAYS_SECONDS\n',
        replacement: `  const checkDelaysSeconds = engine.settings.CHECK_DELAYS_SECONDS
  if (status === 'failed_retryable') {
    const response = { status: 503, headers: {}, body: '{}' }
    const retentionSeconds = engine.settings.KEY_RETENTION_SECONDS
    const move = { kind: 'finish', response, retentionSeconds } as const
    await recordEach(engine.store.sql, [{ claim, move, record: { runs: [], writes: {} } }])
    engine.announceIdle(claim.id)
    return 'finished'
  }
`,
      },
    ],
    schema: ['alter table idempotency_keys drop constraint idempotency_keys_response'],
    circumstances: { settings: { JOB_RETRY_LIMIT: '0', PROVIDER_OUTAGE_SECONDS: '0' } },
    caughtBy: 7,
    shownBy: ['payment.create.unwelcome'],
  },
  {
    name: 'unknown-finished-by-the-clients-retry',
    breaks:
      'A retry repeats a call with an unknown outcome, which only the outcome resolver may end.',
    patches: [
      {
        file: 'src/http/keyed/keyed-endpoint.ts',
        text: "if (key.status !== 'failed_retryable') return",
        replacement: "if (key.status !== 'failed_retryable' && key.status !== 'unknown') return",
      },
      {
        file: 'src/db/idempotency/idempotency-keys.ts',
        text: "set status = 'pending', attempts = 0,",
        replacement:
          "set status = 'pending', phase_began_at = null, unknown_at = null,\n" +
          '        next_check_at = null, checked_at = null, attempts = 0,',
      },
      {
        file: 'src/db/idempotency/idempotency-keys.ts',
        text: 'in_doubt = (phase_began_at is not null)',
        replacement: 'in_doubt = false',
      },
      {
        file: 'src/db/idempotency/idempotency-keys.ts',
        text: "and status = 'failed_retryable'\n",
        replacement: "and status in ('failed_retryable', 'unknown')\n",
      },
      {
        file: 'src/operations/create-payment/phases.ts',
        text: "['requires_capture', 'failed']",
        replacement: "['requires_capture', 'failed', 'unknown']",
      },
    ],
    circumstances: SLOW_RESOLVER,
    caughtBy: 1,
    shownBy: ['payment.create~keyless:reset@worker/provider-authorize/reply#1/before'],
  },
  {
    name: 'reaper-without-its-predicate',
    breaks: 'Completed keys are removed even if they have not expired.',
    patches: [
      {
        file: 'src/db/idempotency/key-expiry.ts',
        text: '    const buried = await findBuried(tx, await findExpired(tx, limit, FIRST_CURSOR))\n',
        replacement: `    const { count } = await tx\`delete from idempotency_keys where status = 'completed'\`
    if (count > 0) return count
    const buried = await findBuried(tx, await findExpired(tx, limit, FIRST_CURSOR))
`,
      },
    ],
    circumstances: {
      settings: { REAP_INTERVAL_MS: '40' },
    },
    caughtBy: 1,
    shownBy: ['payment.create', 'refund.create'],
  },
  {
    name: 'reaper-not-guarded-by-what-it-found',
    breaks: 'The reaper completes a key that its client has retried in the meantime.',
    patches: [
      {
        file: 'src/db/idempotency/key-expiry.ts',
        text: '    and ${hasNoEffect(sql)}\n',
        replacement: '',
      },
    ],
    caughtBy: 7,
    shownBy: ['payment.create.in-time'],
  },
]
