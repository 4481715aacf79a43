// Injects the faults of a soak. Each hits the first operation that reaches its point, and is over
// when everything that had begun by then has ended.
import type { Injection } from '../case.ts'
import { faults as catalogue } from '../faults.ts'
import { releaseAll, startInjecting } from '../injecting.ts'
import { checkEnds } from '../checks.ts'
import { checkCallsDuringAbsence } from '../fencing.ts'
import type { Lane } from '../lane.ts'
import type { CountedScenario } from '../plan.ts'
import type { Point } from '../points.ts'
import { isAtRedis } from '../redis-faults.ts'
import type { Violation } from '../results.ts'
import { checkSecrecy } from '../secrecy.ts'
import { type Merchant } from '../merchant.ts'
import { RECOVERY_LIMIT_MS, RECOVERY_LIMIT_SECONDS } from '../bounds.ts'
import { poll } from '../poll.ts'

export interface SoakInjection {
  /** False when nothing reached its point in time, or the fault had no effect there. */
  readonly isInjected: boolean
  /** Null when it was not injected, or nothing recovered. */
  readonly recoveryMs: number | null
  /** Null without an outage of the store. */
  readonly returnMs: number | null
  readonly violations: readonly Violation[]
}

const REACH_LIMIT_MS = 3_000

/** For each fault that the lane supports, the points with ordinal 1 at which it can be injected. */
export function choicesOf(
  counted: readonly CountedScenario[],
  { options: { disk, replicated } }: Pick<Lane, 'options'>,
): Injection[][] {
  const points = counted.flatMap((scenario) => scenario.points).filter(isFirst)
  const known = [...new Map(points.map((point) => [point.label, point])).values()]
  return catalogue
    .filter(({ contests, needsDisk, needsStandby, needsRedis }) => {
      if (needsDisk === true && typeof disk !== 'object') return false
      if (needsStandby === true && replicated !== true) return false
      if (needsRedis === true) return false
      // A contest needs a tenant with one operation in progress, and a soak has many.
      return contests !== true
    })
    .map(({ name, appliesAt }) =>
      known.filter(appliesAt).map(({ label }) => ({ fault: name, point: label })),
    )
    .filter((own) => own.length > 0)
}

/**
 * Counting starts again with each fault, so the next operation at a place has ordinal 1. A soak has no
 * Redis.
 */
function isFirst(point: Point): boolean {
  return point.label.includes('#1/') && !isAtRedis(point)
}

export interface InjectionOptions {
  readonly lane: Lane
  readonly merchant: Merchant
  readonly injection: Injection
  readonly signal: AbortSignal
}

export async function injectOnce(options: InjectionOptions): Promise<SoakInjection> {
  const { lane, merchant, injection, signal } = options
  const faults = startInjecting({ lane, merchant, isConcurrent: true }, [injection])
  const { injectedAt } = lane.watch
  await poll(REACH_LIMIT_MS, () => injectedAt.length > 0, { signal }).catch(() => {})
  const [at] = injectedAt
  lane.watch.end()
  if (at === undefined)
    return { isInjected: false, recoveryMs: null, returnMs: null, violations: [] }
  const by = new Date()
  const isRecovered = await untilRecovered(lane, by, signal)
  const recoveryMs = isRecovered ? performance.now() - at : null
  const lost = isRecovered || signal.aborted ? [] : [await notRecovered(lane, injection, by)]
  const violations = await faults.untilWorkDone()
  const ends = checkEnds(lane.takeUnexpectedExits())
  const called = checkCallsDuringAbsence(lane.processes, true)
  for (const { store } of lane.processes) store.absences.splice(0)
  const lines = await cleanUp(lane)
  const secrets = [...lane.secrets, merchant.tenant.apiKey]
  const leaks = checkSecrecy({ secrets, texts: { 'a log': lines } })
  return {
    isInjected: faults.misses === 0,
    recoveryMs,
    returnMs: faults.returnMs,
    violations: [...violations, ...ends, ...called, ...leaks, ...lost],
  }
}

async function notRecovered(lane: Lane, { fault, point }: Injection, by: Date): Promise<Violation> {
  const left = await describeUnfinished(lane, by).catch((error: unknown) => [String(error)])
  const what = `not recovered from ${fault}@${point} within ${RECOVERY_LIMIT_SECONDS} s: ${left.join(', ')}`
  return { invariant: 7, what }
}

/** Whether what had begun by then ended within the limit. */
async function untilRecovered(lane: Lane, by: Date, signal: AbortSignal): Promise<boolean> {
  const isRecovered = async () => {
    // While the store is away nothing is known.
    const unfinished = await describeUnfinished(lane, by).catch(() => undefined)
    return unfinished?.length === 0
  }
  return await poll(RECOVERY_LIMIT_MS, isRecovered, { signal }).catch(() => false)
}

const DESCRIBED = 5

/** The oldest operations that began up to that moment and have not ended, and why. */
async function describeUnfinished({ owner: { sql } }: Lane, by: Date): Promise<string[]> {
  const rows = await sql`
    select
      key.operation, key.status, key.recovery_point, key.attempts, key.in_doubt, key.last_error,
      now() - key.created_at as age, key.lease_expires_at - now() as leased_for,
      key.next_check_at - now() as checked_in, job.state as job, job.start_after - now() as job_in
    from idempotency_keys as key
    left join atomic_jobs.job on job.id = key.job_id
    where key.status in ('pending', 'processing', 'unknown') and key.created_at <= ${by.toISOString()}
    order by key.created_at
    limit ${DESCRIBED}
  `
  return rows.map((row) => JSON.stringify(row))
}

/** Releases what the fault held back, removes replaced processes, and returns their log lines. */
async function cleanUp(lane: Lane): Promise<readonly string[]> {
  await Promise.all([lane.resumeSuspended(), lane.untilTerminated()])
  await releaseAll(lane)
  await lane.untilWhole()
  return await lane.removeReplaced()
}
