// Resolves unknown outcomes: looks up at the provider what an operation's lost call did, and
// completes the operation accordingly. The lookup runs outside of any transaction; afterwards the
// resolver acts only if the operation has not changed since.
import type { Sql, Transaction } from '../db/connection/client.ts'
import { asTenant, inTenant } from '../db/connection/transaction.ts'
import type { Fence } from '../db/idempotency/idempotency-keys.ts'
import { dropFallbackIfOwner, giveBackIfOwner, type Claim } from '../db/operations/leases.ts'
import { readOperation } from '../db/operations/operation-rows.ts'
import { appendPhaseRuns, type PhaseRun } from '../db/operations/phase-runs.ts'
import { retentionOf, type KeyRetention } from '../domain/idempotency/idempotency-key.ts'
import {
  isFinalOutcome,
  type FinalOutcome,
  type OpenOutcome,
  type Outcome,
} from '../domain/operations/outcome.ts'
import type { Payment } from '../domain/payments/payment.ts'
import { lookUpCall } from '../engine/call-provider.ts'
import { operationNamed, type Engine } from '../engine/engine.ts'
import { LeaseLostError } from '../engine/lease.ts'
import { runFromLookup } from '../engine/run-phases.ts'
import { resolveSpan } from '../engine/spans.ts'
import type { LookupCriteria } from '../provider/calls.ts'
import { settleSeconds } from '../provider/capabilities.ts'
import { withSpan } from '../tracing/spans.ts'
import { absenceOf, providerOfCheck, type Absence } from './absence.ts'
import { takeDueChecks, postponeCheckIfUnknown, type DueCheck } from './due-checks.ts'
import { recordVerdict } from './verdicts.ts'
import { reportStuck } from './stuck-outcomes.ts'

/**
 * `settled`: the call had happened or was declined, and the outcome is recorded now. `absent`: nothing
 * happened, and the client's next retry runs the operation again. `unclear`: the outcome is still unknown.
 * `postponed`: no lookup was made, because too many wait for the provider.
 */
type Result = 'settled' | 'absent' | 'unclear' | 'postponed'

/** The number of outcomes that are looked up at the same time. One list serves all of a window. */
const BATCH = 50

/** For how long after its last check an outcome can be postponed. Then a finding opens. */
const POSTPONED_AT_MOST_SECONDS = 3_600

/**
 * Looks up every due unknown outcome once, and opens findings for those without a check left.
 * Concurrent calls are harmless.
 */
export async function resolveDue(engine: Engine) {
  const checked = await resolveAllDue(engine)
  return { ...checked, found: await reportStuck(engine) }
}

async function resolveAllDue(engine: Engine): Promise<Record<Result, number>> {
  const counts = { settled: 0, absent: 0, unclear: 0, postponed: 0 }
  for (;;) {
    const { CHECK_DELAYS_SECONDS } = engine.settings
    const due = await takeDueChecks(engine.store.sql, CHECK_DELAYS_SECONDS, BATCH)
    const withCriteria = due.map((check) => ({ check, criteria: criteriaOf(engine, check) }))
    // All lookups begin together, so that they share lists.
    await Promise.allSettled(withCriteria.map(({ criteria }) => criteria))
    const results = await Promise.all(
      withCriteria.map(({ check, criteria }) => resolveSafely(engine, check, criteria)),
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
  criteria: Promise<LookupCriteria>,
): Promise<Result> {
  try {
    return await withSpan(resolveSpan(check), async () => resolveOne(engine, check, await criteria))
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

async function resolveOne(
  engine: Engine,
  check: DueCheck,
  criteria: LookupCriteria,
): Promise<Result> {
  const { log, clock } = engine
  const startedAt = clock.now()
  const outcome = await lookUp(engine, check, criteria)
  const endedAt = clock.now()
  const lookup: PhaseRun = {
    phase: check.recoveryPoint,
    reached: null,
    outcome,
    startedAt,
    endedAt,
  }
  if (outcome === undefined || isFinalOutcome(outcome))
    return await recordFound(engine, check, outcome, lookup)
  if (isPostponed(engine, check, outcome)) {
    await postponeCheckIfUnknown(engine.store.sql, check)
    return 'postponed'
  }
  const absence = absenceOf(engine, check, outcome)
  const isMarked = await inTenant(engine.store.sql, check.tenantId, async (tx) => {
    const owner = absence === undefined ? check : await markAbsent(tx, engine, check, absence)
    if (owner === undefined) return false
    await appendPhaseRuns(tx, [{ owner, tries: [lookup] }])
    await recordVerdict(tx, check, outcome, absence)
    return true
  })
  if (absence !== undefined) return isMarked ? 'absent' : 'unclear'
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
async function lookUp(
  engine: Engine,
  check: DueCheck,
  criteria: LookupCriteria,
): Promise<Outcome<unknown> | undefined> {
  const operation = operationNamed(engine, check.operation)
  const name = operation.phases[check.recoveryPoint]?.call
  if (name === undefined) return undefined
  return await lookUpCall(engine, check, name, operation.subject(check), criteria)
}

/** Where to look. An operator's evidence comes first, then the ids from the provider's events. */
async function criteriaOf(engine: Engine, check: DueCheck): Promise<LookupCriteria> {
  const { store, settings, clock } = engine
  const { evidence, payment } = check
  const { capabilities } = providerOfCheck(engine, check)
  const settlingMs = settleSeconds(capabilities, settings) * 1_000
  const settlingEndsAt = new Date(check.unknownAt.getTime() + settlingMs)
  const knownId = evidence?.provider_payment_id ?? payment.providerPaymentId
  const [providerPaymentId = null] =
    knownId === null ? await findProviderPaymentIds(store.sql, payment) : [knownId]
  return {
    operationId: check.id,
    // From the intent on: an operation that failed and was reopened called under the same key before.
    executedFrom: check.createdAt,
    // A failed call may be completed at any time.
    executedTo: check.failureStored ? clock.now() : settlingEndsAt,
    providerPaymentId,
    providerRefundId: evidence?.provider_refund_id ?? null,
  }
}

/**
 * The provider's payment ids that its events named for a payment, newest first. Internal events
 * name none.
 */
export async function findProviderPaymentIds(
  sql: Sql,
  { tenantId, id, provider }: Pick<Payment, 'tenantId' | 'id' | 'provider'>,
): Promise<string[]> {
  const rows = await asTenant(sql, tenantId)<{ provider_payment_id: string }[]>`
    select provider_payment_id from provider_events
    where tenant_id = ${tenantId} and payment_id = ${id} and provider = ${provider}
      and provider_payment_id is not null
    group by provider_payment_id
    order by max(received_at) desc
  `
  return rows.map((row) => row.provider_payment_id)
}

/** Claims the operation, records the outcome that was found, and continues with its phases. */
async function recordFound(
  engine: Engine,
  check: DueCheck,
  outcome: FinalOutcome<unknown> | undefined,
  lookup: PhaseRun,
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
  await runFromLookup(engine, operation, { kind: 'final', lease, tries: [lookup], outcome })
  engine.log.info(
    { operation: check.id, phase: check.recoveryPoint, outcome: outcome?.outcome },
    'an unknown outcome was resolved',
  )
  return 'settled'
}

interface ResolverParts extends Pick<Engine, 'operations'> {
  readonly settings: Pick<Engine['settings'], 'LEASE_MS' | keyof KeyRetention>
}

/**
 * Claims an unknown operation under a new lease epoch, with its attempts reset. Its provider call
 * stays in doubt and keeps its `unknown_at` until the outcome is recorded. Undefined when another
 * process claimed it.
 *
 * @param ref as it was looked up: it must be unchanged.
 */
export async function claimUnknownRow(
  tx: Transaction,
  ref: Fence,
  leaseMs: number,
): Promise<Claim | undefined> {
  const { count } = await tx`
    update idempotency_keys set
      status = 'processing',
      lease_epoch = lease_epoch + 1,
      lease_expires_at = now() + ${leaseMs} * interval '1 millisecond',
      attempts = 1,
      next_check_at = null,
      checked_at = null
    where tenant_id = ${ref.tenantId} and id = ${ref.id}
      and status = 'unknown' and recovery_point = ${ref.recoveryPoint}
      and lease_epoch = ${ref.leaseEpoch}
  `
  return count === 0 ? undefined : await readOperation(tx, ref)
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
  const claim = await claimUnknownRow(tx, seen, engine.settings.LEASE_MS)
  if (claim === undefined) return undefined
  const operation = operationNamed(engine, claim.operation)
  await operation.markResumed({ tx, key: claim.key }, operation.subject(claim))
  // Read again, because marking has changed the resource.
  return await readOperation(tx, claim)
}

/**
 * Marks an operation as failed whose call counts as not executed; its client's next retry runs it
 * again. Undefined when the operation is no longer unknown, or has changed since it was seen.
 */
export async function markAbsent(
  tx: Transaction,
  engine: ResolverParts,
  seen: Fence,
  { reason, keepsDoubt }: Absence,
): Promise<Claim | undefined> {
  const claim = await claimUnknown(tx, engine, seen)
  if (claim === undefined) return undefined
  const operation = operationNamed(engine, claim.operation)
  await operation.markGivenUp({ tx, key: claim.key }, operation.subject(claim))
  await dropFallbackIfOwner(tx, claim)
  const isGivenBack = await giveBackIfOwner(tx, claim, {
    status: 'failed_retryable',
    inDoubt: keepsDoubt,
    reason,
    // After a long doubt the client may retry as long as after any other answer.
    retentionSeconds: retentionOf(engine.settings, claim.operation),
    checkDelaysSeconds: [],
  })
  if (!isGivenBack) throw new LeaseLostError(claim)
  return claim
}
