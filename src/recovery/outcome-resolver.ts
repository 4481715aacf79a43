// Resolves unknown outcomes: looks up at the provider what an operation's lost call did, and
// completes the operation accordingly. The look-up runs outside of any transaction; afterwards the
// resolver acts only if the operation has not changed since.
import { appendPhaseRuns, type PhaseRun } from '../db/operations/phase-runs.ts'
import { findProviderPaymentIds } from '../db/events/provider-events.ts'
import { inTenant } from '../db/connection/transaction.ts'
import {
  claimDueChecks,
  closeFindingsOfIdle,
  openFindingsOfStuck,
  postponeCheckIfUnknown,
  type DueCheck,
  claimIfUnknown,
  giveBackInDoubtIfOwner,
  dropEvidenceIfSame,
} from '../db/operations/unknown-outcomes.ts'
import type { Transaction } from '../db/connection/client.ts'
import {
  isFinalOutcome,
  type FinalOutcome,
  type OpenOutcome,
  type Outcome,
} from '../domain/operations/outcome.ts'
import { keepsFailures, keyWindowSeconds, settleSeconds } from '../provider/capabilities.ts'
import type { Trace } from '../provider/calls.ts'
import { withSpan } from '../tracing/spans.ts'
import { lookUpCall } from '../engine/call-provider.ts'
import { operationNamed, type Engine } from '../engine/engine.ts'
import { runFromFound } from '../engine/run-phases.ts'
import { LeaseLostError } from '../engine/lease.ts'
import { resolveSpan } from '../engine/spans.ts'
import { absenceOf, phasesGuardedByKey, providerOfCheck, type Absence } from './absence.ts'
import type { Fence } from '../db/idempotency/idempotency-keys.ts'
import { dropFallbackIfOwner, giveBackIfOwner, type Claim } from '../db/operations/leases.ts'
import { readOperation } from '../db/operations/operation-rows.ts'
import { retentionOf, type KeyRetention } from '../domain/idempotency/retention.ts'
import type { Evidence } from '../db/schema/idempotency-keys.ts'
import { appendAdminAction, VERDICT } from '../db/operators/admin-actions.ts'
import { SERVICE_ACTOR } from '../db/reconciliation/findings.ts'
import { effectOf } from '../domain/operations/doubt-sentences.ts'
import { describeShown, judgeClaim, type Claimed } from '../domain/operations/verdict.ts'
import { showId } from '../domain/resource-id.ts'

/** The results of one round of checks. */
export interface ResolverCounts extends Record<string, number> {
  /** The call had happened or was declined; the outcome is recorded now. */
  readonly settled: number
  /** It is proved that nothing happened; the client's next retry runs the operation again. */
  readonly absent: number
  /** The outcome is still unknown. */
  readonly unclear: number
  /** No look-up was made: too many wait for the provider. */
  readonly postponed: number
  /** No check is left; a finding waits for an operator. */
  readonly found: number
}

type Result = keyof Pick<ResolverCounts, 'settled' | 'absent' | 'unclear' | 'postponed'>

/** The number of outcomes that are looked up at the same time. One list serves all of a window. */
const BATCH = 50

/** If the provider keeps no failures, the age of a call does not make it unprovable. */
const NEVER_SECONDS = 10 ** 9

/** When a postponed check is repeated. */
const POSTPONED_SECONDS = 5
/** For how long after its last check an outcome can be postponed. Then a finding opens. */
const POSTPONED_AT_MOST_SECONDS = 3_600

/**
 * Looks up every due unknown outcome once, and opens findings for those without a check left.
 * Concurrent calls are harmless.
 */
export async function resolveDue(engine: Engine): Promise<ResolverCounts> {
  const checked = await resolveAllDue(engine)
  const { store, providers, settings } = engine
  const found = await openFindingsOfStuck(store.sql, {
    lastDelaySeconds: settings.CHECK_DELAYS_SECONDS.at(-1) ?? 0,
    unprovable: phasesGuardedByKey(engine),
    limits: providers.all.map(({ name, capabilities }) => ({
      provider: name,
      settleSeconds: settleSeconds(capabilities, settings),
      keyWindowSeconds: keepsFailures(capabilities, settings)
        ? keyWindowSeconds(capabilities, settings)
        : NEVER_SECONDS,
    })),
    afterMs: settings.LEASE_MS,
  })
  await closeFindingsOfIdle(store.sql)
  return { ...checked, found }
}

async function resolveAllDue(engine: Engine): Promise<Record<Result, number>> {
  const counts = { settled: 0, absent: 0, unclear: 0, postponed: 0 }
  for (;;) {
    const { CHECK_DELAYS_SECONDS } = engine.settings
    const due = await claimDueChecks(engine.store.sql, CHECK_DELAYS_SECONDS, BATCH)
    const traced = due.map((check) => ({ check, trace: traceOf(engine, check) }))
    // All look-ups begin together, so that they share lists.
    await Promise.allSettled(traced.map(({ trace }) => trace))
    const results = await Promise.all(
      traced.map(({ check, trace }) => resolveSafely(engine, check, trace)),
    )
    for (const result of results) counts[result] += 1
    const stopping = engine.shutdown?.leftMs() !== undefined
    if (due.length < BATCH || counts.postponed > 0 || stopping) return counts
  }
}

/** A failed check must not stop the others. It is repeated when its next check is due. */
async function resolveSafely(
  engine: Engine,
  check: DueCheck,
  trace: Promise<Trace>,
): Promise<Result> {
  try {
    return await withSpan(resolveSpan(check), async () => resolveOne(engine, check, await trace))
  } catch (error) {
    const log = { err: error, operation: check.id }
    if (error instanceof LeaseLostError) {
      engine.observe.lostLease()
      engine.log.warn(log, 'another owner took over')
    } else {
      engine.log.error(log, 'a check failed')
    }
    return 'unclear'
  }
}

async function resolveOne(engine: Engine, check: DueCheck, trace: Trace): Promise<Result> {
  const { log, clock } = engine
  const startedAt = clock.now()
  const outcome = await look(engine, check, trace)
  const endedAt = clock.now()
  const run: PhaseRun = { phase: check.recoveryPoint, reached: null, outcome, startedAt, endedAt }
  if (outcome === undefined || isFinalOutcome(outcome))
    return await recordFound(engine, check, outcome, run)
  if (isPostponed(engine, check, outcome)) {
    await postponeCheckIfUnknown(engine.store.sql, check, POSTPONED_SECONDS)
    return 'postponed'
  }
  const absence = absenceOf(engine, check, outcome)
  if (absence !== undefined) {
    const record = (tx: Transaction) => recordVerdict(tx, check, outcome, absence)
    const options = { ...absence, runs: [run], record }
    return (await markAbsent(engine, check, absence.reason, options)) ? 'absent' : 'unclear'
  }
  await inTenant(engine.store.sql, check.tenantId, async (tx) => {
    await appendPhaseRuns(tx, [{ owner: ownerOf(check), runs: [run] }])
    await recordVerdict(tx, check, outcome)
  })
  const { reason } = outcome
  log.warn({ operation: check.id, phase: check.recoveryPoint, reason }, 'the outcome stays unknown')
  return 'unclear'
}

/** An operator who waits for the verdict gets it now. */
function isPostponed({ settings }: Engine, check: DueCheck, outcome: OpenOutcome): boolean {
  const lastDelay = settings.CHECK_DELAYS_SECONDS.at(-1) ?? 0
  const isLate = check.unknownForSeconds > lastDelay + POSTPONED_AT_MOST_SECONDS
  const wasSent = outcome.outcome !== 'unknown' || outcome.notSent !== true
  return !wasSent && !isLate && check.evidence === null
}

/**
 * Undefined for a phase without a provider call: nothing is in doubt, so the phase can simply run.
 */
async function look(
  engine: Engine,
  check: DueCheck,
  trace: Trace,
): Promise<Outcome<unknown> | undefined> {
  const operation = operationNamed(engine, check.operation)
  const name = operation.phases[check.recoveryPoint]?.call
  if (name === undefined) return undefined
  return await lookUpCall(engine, check, name, operation.subject(check), trace)
}

/** Where to look. An operator's evidence comes first, then the ids from the provider's events. */
async function traceOf(engine: Engine, check: DueCheck): Promise<Trace> {
  const { store, settings, clock } = engine
  const { evidence, payment } = check
  const { capabilities } = providerOfCheck(engine, check)
  const settlingMs = settleSeconds(capabilities, settings) * 1_000
  const settlingEndsAt = new Date(check.calledTo.getTime() + settlingMs)
  const knownId = evidence?.provider_payment_id ?? payment.providerPaymentId
  const [providerPaymentId = null] =
    knownId === null ? await findProviderPaymentIds(store.sql, payment) : [knownId]
  return {
    operationId: check.id,
    executedFrom: check.calledFrom,
    // A failed call may be completed at any time.
    executedTo: check.failureKept ? clock.now() : settlingEndsAt,
    providerPaymentId,
    providerRefundId: evidence?.provider_refund_id ?? null,
  }
}

/** Claims the operation, records the outcome that was found, and continues with its phases. */
async function recordFound(
  engine: Engine,
  check: DueCheck,
  outcome: FinalOutcome<unknown> | undefined,
  run: PhaseRun,
): Promise<Result> {
  const { settings, clock, store } = engine
  const endsAtMs = clock.monotonicMs() + settings.LEASE_MS
  const claim = await inTenant(store.sql, check.tenantId, async (tx) => {
    const claimed = await claimUnknown(tx, engine, check)
    if (claimed !== undefined) await recordVerdict(tx, check, outcome)
    return claimed
  })
  if (claim === undefined) {
    engine.log.warn({ operation: check.id }, 'looked up, but another owner took over meanwhile')
    return 'unclear'
  }
  const operation = operationNamed(engine, claim.operation)
  const lease = { claim, subject: operation.subject(claim), endsAtMs }
  await runFromFound(engine, operation, { kind: 'final', lease, runs: [run], outcome })
  engine.log.info(
    { operation: check.id, phase: check.recoveryPoint, outcome: outcome?.outcome },
    'an unknown outcome was resolved',
  )
  return 'settled'
}

function ownerOf(check: DueCheck) {
  return { ...check, paymentId: check.payment.id }
}

/** The parts of an engine that the API has as well. */
interface ResolverParts extends Pick<Engine, 'operations'> {
  readonly settings: Pick<Engine['settings'], 'LEASE_MS' | keyof KeyRetention>
}

/**
 * Claims the operation and marks its resource as resumed; undefined when the operation is not
 * unknown.
 */
export async function claimUnknown(
  tx: Transaction,
  engine: ResolverParts,
  seen: Fence,
): Promise<Claim | undefined> {
  const claim = await claimIfUnknown(tx, seen, engine.settings.LEASE_MS)
  if (claim === undefined) return undefined
  const operation = operationNamed(engine, claim.operation)
  const marking = { tx, key: claim.key }
  await operation.markResumed(marking, operation.subject(claim))
  // Read again, because marking has changed the resource.
  return await readOperation(tx, claim)
}

/**
 * Marks an operation as failed whose call counts as not executed; its client's next retry runs it
 * again. Returns false when the operation is no longer unknown, or has changed since it was seen.
 *
 * @param options.runs the look-ups that show it.
 * @param options.keepsDoubt whether it may have been executed nevertheless.
 * @param options.record what else to record in the same transaction.
 */
export async function markAbsent(
  engine: ResolverParts & Pick<Engine, 'store'>,
  seen: Fence,
  reason: string,
  options: {
    readonly runs?: readonly PhaseRun[]
    readonly keepsDoubt?: boolean
    readonly record?: (tx: Transaction) => Promise<void>
  } = {},
): Promise<boolean> {
  const { runs = [], keepsDoubt = false, record } = options
  return await inTenant(engine.store.sql, seen.tenantId, async (tx) => {
    const claim = await claimUnknown(tx, engine, seen)
    if (claim === undefined) return false
    const operation = operationNamed(engine, claim.operation)
    const marking = { tx, key: claim.key }
    await operation.markFailed(marking, operation.subject(claim))
    const status = 'failed_retryable'
    // After a long doubt the client may retry as long as after any other answer.
    const retentionSeconds = retentionOf(engine.settings, claim.operation)
    const to = { status, inDoubt: false, reason, retentionSeconds, checkDelaysSeconds: [] } as const
    await dropFallbackIfOwner(tx, claim)
    const isGivenBack = keepsDoubt
      ? await giveBackInDoubtIfOwner(tx, claim, { reason, retentionSeconds })
      : await giveBackIfOwner(tx, claim, to)
    if (!isGivenBack) throw new LeaseLostError(claim)
    await appendPhaseRuns(tx, [{ owner: claim, runs }])
    await record?.(tx)
    return true
  })
}

/**
 * Does nothing for a check without a claim.
 *
 * @param outcome what the look-up found.
 * @param absence set when the call counts as not executed.
 */
async function recordVerdict(
  tx: Transaction,
  check: Pick<DueCheck, 'tenantId' | 'id' | 'evidence'>,
  outcome: Outcome<unknown> | undefined,
  absence?: Pick<Absence, 'keepsDoubt'>,
): Promise<void> {
  const { evidence } = check
  if (evidence === null) return
  await dropEvidenceIfSame(tx, check, evidence)
  const claimed = claimedBy(evidence)
  const verdict = judgeClaim(claimed, outcome)
  const isActedOnUnseen = absence !== undefined && outcome?.outcome === 'unknown'
  await appendAdminAction(tx, {
    actor: SERVICE_ACTOR,
    action: VERDICT,
    subject: showId('op', check.id),
    details: {
      claim: evidence.claim,
      claimed_by: evidence.by,
      verdict,
      taken: isActedOnUnseen || verdict === 'verified',
      shown: describeShown(outcome),
      effect: effectOf({
        outcome: claimed === 'did_not_happen' ? claimed : 'happened',
        verdict,
        found: outcome,
        absence,
      }),
      found: outcome?.answered ?? null,
    },
  })
}

function claimedBy(evidence: Evidence): Claimed {
  const providerId = evidence.provider_refund_id ?? evidence.provider_payment_id
  return providerId === undefined ? 'did_not_happen' : { providerId }
}
