// Mutants of the provider call: when it is made, under which key, and how its answer is
// interpreted.
import { KEYLESS, type Mutant } from './mutant.ts'

export const mutantsOfCalls: readonly Mutant[] = [
  {
    name: 'provider-key-made-anew-on-each-try',
    breaks: 'The provider cannot recognize that a call is repeated.',
    patches: [
      {
        file: 'src/engine/call-provider.ts',
        text: '`atomic_${id}_${recoveryPoint}${suffix}`',
        replacement: '`atomic_${id}_${recoveryPoint}_${Math.random()}`',
      },
    ],
    caughtBy: 1,
    shownBy: ['payment.create:SIGKILL@worker/provider-authorize/reply#1/before'],
  },
  {
    name: 'foreign-call-inside-a-transaction',
    breaks:
      'The claim is committed with the last phase, so a crash loses the fact that the provider was called.',
    patches: [
      {
        file: 'src/engine/run-phases.ts',
        text: 'async function claimAndRun(engine: Engine, ref: OperationRef): Promise<RunResult> {',
        replacement: `async function claimAndRun(outside: Engine, ref: OperationRef): Promise<RunResult> {
  const { inTransaction } = await import('../db/connection/transaction.ts')
  return await inTransaction(outside.store.sql, async (tx) => {
    const begin = async (work: (tx: never) => unknown) => await work(tx as never)
    const sql = Object.assign(tx, { begin }) as never
    const { batchClaims } = await import('../db/operations/batch-claims.ts')
    const claim = batchClaims(sql)
    return await claimAndRunInside({ ...outside, claim, store: { ...outside.store, sql } }, ref)
  })
}

async function claimAndRunInside(engine: Engine, ref: OperationRef): Promise<RunResult> {`,
      },
    ],
    circumstances: KEYLESS,
    caughtBy: 1,
    shownBy: ['payment.create~keyless:SIGKILL@worker/provider-authorize/reply#1/before'],
  },
  {
    name: 'repeated-past-the-key-window-without-a-look',
    breaks:
      'A call with an unknown outcome is repeated after the provider may have forgotten its key.',
    patches: [
      {
        file: 'src/engine/call-provider.ts',
        text: 'if (inDoubt && isPastKeyWindow(engine, claimed, phaseAgeMs)) return',
        replacement: 'if (inDoubt && isPastKeyWindow(engine, claimed, phaseAgeMs) && false) return',
      },
      {
        file: 'src/db/operations/sweeper.ts',
        text: "and idempotency_keys.phase_began_at > now() - key_window.seconds * interval '1 second'",
        replacement: 'and idempotency_keys.phase_began_at is not null',
      },
    ],
    circumstances: KEYLESS,
    caughtBy: 1,
    shownBy: ['payment.create~keyless:SIGKILL@worker/provider-authorize/reply#1/before'],
  },
  {
    name: 'repeated-in-doubt-within-the-lease',
    breaks: 'A call is repeated by its owner at once, although the provider keeps no keys.',
    patches: [
      {
        file: 'src/engine/call-provider.ts',
        text: 'if (inDoubt && isPastKeyWindow(engine, lease, ageMs)) {',
        replacement: 'if (inDoubt && isPastKeyWindow(engine, lease, ageMs) && false) {',
      },
    ],
    circumstances: KEYLESS,
    caughtBy: 1,
    shownBy: ['payment.create~keyless:reset@worker/provider-authorize/reply#1/before'],
  },
  {
    name: 'sweeper-repeats-without-provider-keys',
    breaks:
      'The sweeper, and the worker after it, take the setting for what the provider declares.',
    patches: [
      {
        file: 'src/provider/capabilities.ts',
        text: 'return Math.min(keys?.keptSeconds ?? 0, PROVIDER_KEY_WINDOW_SECONDS)',
        replacement: 'return keys === null ? 60 : Math.max(60, PROVIDER_KEY_WINDOW_SECONDS)',
      },
    ],
    circumstances: KEYLESS,
    caughtBy: 1,
    shownBy: ['payment.create~keyless:SIGKILL@worker/provider-authorize/reply#1/before'],
  },
  {
    name: 'unknown-answer-taken-for-not-executed',
    breaks: 'A lost connection counts as proof that nothing happened.',
    patches: [
      {
        file: 'src/provider/stripe/errors.ts',
        text: 'if (neverSent(error.detail)) return',
        replacement: 'if (neverSent(error.detail) || true) return',
      },
    ],
    circumstances: KEYLESS,
    caughtBy: 1,
    shownBy: ['payment.create~keyless:reset@worker/provider-authorize/reply#1/before'],
  },
  {
    name: 'new-key-without-proof-of-absence',
    breaks: 'After a failure that the provider keeps, the call is made again under a new key.',
    patches: [
      {
        file: 'src/engine/call-provider.ts',
        text: "if (keptFailure === 'certain') {",
        replacement: "if (keptFailure === 'certain' && false) {",
      },
      {
        file: 'src/db/operations/leases.ts',
        text: "case when failure_kept and failure_certain and ${to.status} = 'failed_retryable'",
        replacement: 'case when failure_kept',
      },
      // Otherwise a look-up under the new key finds what the old one did.
      {
        file: 'src/engine/call-provider.ts',
        text: 'if (claimed.claim.keyGeneration === 0) {',
        replacement: 'if (claimed.claim.keyGeneration >= 0) {',
      },
    ],
    caughtBy: 1,
    shownBy: ['payment.create:provider-error-500-after@worker/provider-authorize/request#1/before'],
  },
  {
    name: 'operator-believed-without-a-look',
    breaks:
      'A refund runs again on an operator’s word, under a new provider key, without a look-up.',
    patches: [
      {
        file: 'src/recovery/outcome-resolver.ts',
        text: '  const outcome = await look(engine, check, trace)\n',
        replacement: `  if (check.evidence?.proved_absent === true) {
    return (await markAbsent(engine, check, 'an operator says so')) ? 'absent' : 'unclear'
  }
  const outcome = await look(engine, check, trace)
`,
      },
      {
        file: 'src/engine/call-provider.ts',
        text: 'if (claimed.claim.keyGeneration === 0) {',
        replacement: 'if (claimed.claim.keyGeneration >= 0) {',
      },
      // Otherwise the second refund exceeds what is left, and is refused.
      {
        file: 'dev/stripe-stand-in/refunds/refunds.ts',
        text: 'if (asked !== undefined && asked > left) {',
        replacement: 'if (asked !== undefined && asked > intent.amount_received) {',
      },
    ],
    // Only the operator requests a look-up in time.
    circumstances: { settings: { CHECK_DELAYS_SECONDS: '30', CHECK_ON_READ_SECONDS: '30' } },
    caughtBy: 1,
    // The refund is executed, its failure is kept, and the look-ups right after it, by the worker and
    // for the client's first read, get no answer.
    shownBy: [
      'refund.create:provider-error-500-after@worker/provider-refund/request#1/before+provider-unavailable@worker/provider-list/request#1/before+provider-unavailable@worker/provider-list/request#2/before',
    ],
  },
  {
    name: 'refusal-of-a-repetition-believed',
    breaks: 'A call is told as refused, although an earlier try of it was executed.',
    patches: [
      {
        file: 'src/engine/call-provider.ts',
        text: "if (outcome.outcome === 'declined' && mayHaveRun) {",
        replacement: "if (outcome.outcome === 'declined' && mayHaveRun && false) {",
      },
    ],
    circumstances: {
      ...KEYLESS,
      // Unlike other runs against this provider, the call is repeated.
      settings: { ...KEYLESS.settings, PROVIDER_KEY_WINDOW_SECONDS: '60', CALL_ATTEMPTS: '2' },
    },
    caughtBy: 5,
    shownBy: ['refund.create~keyless:reset@worker/provider-refund/reply#1/before'],
  },
  {
    name: 'look-up-answered-from-an-earlier-list',
    breaks: 'A list that was read before a call is believed when the call is looked up.',
    patches: [
      {
        file: 'src/provider/stripe/lists/shared-lists.ts',
        text: 'void readMatches(pagesWithin(within), matchers).then(',
        replacement: 'void readMatches(keptPages(within), matchers).then(',
      },
      {
        file: 'src/provider/stripe/lists/shared-lists.ts',
        text: '  let gathering: LookUp[] = []\n',
        replacement: `  let gathering: LookUp[] = []
  const kept = new Map<number, (readonly Json[])[]>()
  async function* keptPages(within: CreatedWithin) {
    const pages = kept.get(within.from) ?? (await Array.fromAsync(pagesWithin(within)))
    kept.set(within.from, pages)
    yield* pages
  }
`,
      },
    ],
    circumstances: KEYLESS,
    caughtBy: 1,
    // The first call is proved absent. The second one is executed, and its answer is lost.
    shownBy: [
      'payment.create~keyless:provider-unavailable@worker/provider-authorize/request#1/before+reset@worker/provider-authorize/reply#2/before',
    ],
  },
  {
    name: 'timeout-taken-for-declined',
    breaks: 'A timeout counts as a decline, although the provider may have executed the call.',
    patches: [
      {
        file: 'src/provider/stripe/connection.ts',
        text: 'return timedOut(error, asked)',
        replacement: `return {
    outcome: 'declined',
    failure: { code: 'timeout', declineCode: null, message: error.message },
    providerPaymentId: null,
    asked,
    answered: { error: 'timeout' },
  }`,
      },
    ],
    caughtBy: 5,
    shownBy: ['payment.create:stall@worker/provider-authorize/reply#1/before'],
  },
  {
    name: 'limited-rate-taken-for-declined',
    breaks: 'A 429 counts as a decline, although the provider has not looked at the card.',
    patches: [
      {
        file: 'src/provider/stripe/errors.ts',
        text: 'const refused = notExecuted(error, asked, answered)',
        replacement: 'const refused = declined(error, asked, answered)',
      },
    ],
    caughtBy: 5,
    shownBy: ['payment.create:provider-rate-limited@worker/provider-authorize/request#1/before'],
  },
  {
    name: 'next-phase-without-a-record',
    breaks: 'An error of the store counts as a successful record, and the next call follows.',
    patches: [
      {
        file: 'src/engine/record-phase.ts',
        text: 'if (await hasReached(engine, lease, reached)) return step',
        replacement: 'if (isStoreUnavailable(error)) return step',
      },
    ],
    caughtBy: 8,
    shownBy: ['payment.create:store-away@worker/provider-authorize/request#1/before'],
  },
  {
    name: 'no-finding-is-opened',
    breaks: 'An outcome that stays unknown never becomes a finding.',
    patches: [
      {
        file: 'src/db/operations/unknown-outcome-findings.ts',
        text: 'limit ${FINDINGS_AT_ONCE}',
        replacement: 'limit 0 * ${FINDINGS_AT_ONCE}',
      },
    ],
    circumstances: {
      ...KEYLESS,
      settings: { ...KEYLESS.settings, CHECK_DELAYS_SECONDS: '0.3,0.6' },
    },
    caughtBy: 7,
    shownBy: ['payment.create.unclear~keyless:reset@worker/provider-authorize/reply#1/before'],
  },
]
