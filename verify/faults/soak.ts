// The soak: minutes of steady load on one lane, with a fault of the catalogue every few seconds.
// What can be checked during the soak is, and all invariants are checked at its end, as after any
// run.
import { setTimeout as delay } from 'node:timers/promises'
import { isStoreUnavailable } from '../../src/db/connection/store-errors.ts'
import type { Progress } from '../../bench/progress.ts'
import { makePlans } from '../simulate/plans.ts'
import { seededRandom } from '../simulate/random.ts'
import { awaitFinalAnswers, runTraffic } from '../simulate/traffic.ts'
import { checkCallsDuringAbsence, checkEnds, checkMoving } from './checks.ts'
import type { Lane } from './lane.ts'
import type { Injection, RunResult, Violation } from './results.ts'
import { emptyResult, RECOVERY_LIMIT_MS, RECOVERY_LIMIT_SECONDS } from './results.ts'
import { checkSecrecy } from './secrecy.ts'
import { Merchant } from './merchant.ts'
import { faults as catalogue, releaseAll, startInjecting } from './faults.ts'
import { isAtExtra, type Point } from './points.ts'
import type { CountedScenario } from './plan.ts'
import { poll } from './poll.ts'
import type { Environment } from './environment.ts'
import { type PreparedLane, prepareLane } from './bystander.ts'
import { checkEverything, withOperator } from './run-case.ts'

const EVERY_MS = 15_000

/** Returns the violations found until the end, without duplicates. */
async function checkDuringSoak(
  lane: Lane,
  merchant: Merchant,
  over: AbortSignal,
): Promise<Violation[]> {
  const found = new Map<string, Violation>()
  const keep = (violations: readonly Violation[]) => {
    for (const violation of violations) found.set(JSON.stringify(violation), violation)
  }
  while (!over.aborted) {
    await delay(EVERY_MS, undefined, { signal: over }).catch(() => {})
    // Reading the log lines removes them, so none may be skipped.
    keep(checkLog(lane, merchant, lane.takeLines()))
    keep(await checkMoving(lane, merchant).catch(ignoreStoreOutage))
    keep(await findChargedTwice(lane))
  }
  return [...found.values()]
}

/** While the store is away nothing can be checked. */
function ignoreStoreOutage(error: unknown): Violation[] {
  if (isStoreUnavailable(error)) return []
  throw error
}

function checkLog(lane: Lane, { tenant }: Merchant, lines: readonly string[]): Violation[] {
  return checkSecrecy({ secrets: [...lane.secrets, tenant.apiKey], texts: { 'a log': lines } })
}

/** Uses the provider's own log. */
async function findChargedTwice({ provider }: Lane): Promise<Violation[]> {
  const executed = await provider.listExecuted()
  const captures = executed.filter(({ kind }) => kind === 'payment_intent.capture')
  const byPayment = Map.groupBy(captures, ({ metadata }) => metadata['atomic_payment'] ?? 'nothing')
  return [...byPayment]
    .filter(([, own]) => own.length > 1)
    .map(([id, own]) => ({ invariant: 1, what: `${id} was captured ${own.length} times` }))
}

interface SoakInjection {
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
    .filter(({ contests, needsDisk, needsStandby, needsExtraServer }) => {
      if (needsDisk === true && typeof disk !== 'object') return false
      if (needsStandby === true && replicated !== true) return false
      if (needsExtraServer === true) return false
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
 * server of an extra.
 */
function isFirst(point: Point): boolean {
  return point.label.includes('#1/') && !isAtExtra(point)
}

interface InjectionOptions {
  readonly lane: Lane
  readonly merchant: Merchant
  readonly injection: Injection
  readonly signal: AbortSignal
}

async function injectOnce(options: InjectionOptions): Promise<SoakInjection> {
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
  const leaks = checkLog(lane, merchant, await cleanUp(lane))
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

interface SoakOptions {
  readonly environment: Environment
  readonly progress: Progress
  /** Aborted to stop the suite early. */
  readonly signal: AbortSignal
  readonly seed: number
  readonly minutes: number
  /** The points at which faults can be injected. */
  readonly counted: readonly CountedScenario[]
}

/** The pause between a recovery and the next fault. */
const GAP_MS = { min: 500, max: 3_000 }
/** No operation and no fault begins this shortly before the end. */
const TAIL_MS = 3_000
const RETRYING_CLIENTS = 16
/** What the suite and a lane can handle on two cores, while processes start for those killed. */
const PAYMENTS_A_SECOND = 4
/** More than are in progress in any outage that the service has to survive. */
const CLIENTS = 64

/** A soak without a fault proves nothing. */
const NO_FAULT: Violation = {
  invariant: 0,
  what: 'no operation reached the point of any fault',
}

export async function soak(options: SoakOptions): Promise<RunResult> {
  const { environment, progress, signal, minutes, seed } = options
  const startedAt = performance.now()
  progress.say('Soak: starting its lane')
  const prepared = await prepareLane({ environment, signal, ownServer: true }, {})
  const { lane } = prepared
  try {
    const merchant = new Merchant(lane, await lane.createTenant(), signal)
    return await withOperator(lane, merchant.tenant, async () => {
      const { injections, violations } = await soakLane(options, lane, merchant)
      progress.say('Soak: waiting for the last operations, then checking')
      violations.push(...(await checkAtEnd(prepared, merchant)))
      const injected = injections.filter(({ isInjected }) => isInjected)
      if (injected.length === 0) violations.push(NO_FAULT)
      return {
        ...emptyResult({ scenario: 'soak', injections: [] }, undefined),
        case: `--soak ${minutes} --seed ${seed}`,
        struck: injected.length,
        violations,
        recoveryMs: longest(injected.flatMap(({ recoveryMs }) => recoveryMs ?? [])),
        returnMs: longest(injected.flatMap(({ returnMs }) => returnMs ?? [])),
        outcome: `${merchant.history.operations.length} operations under ${injected.length} faults`,
        durationMs: performance.now() - startedAt,
      }
    })
  } finally {
    await lane.remove()
  }
}

function longest(times: readonly number[]): number | null {
  return times.length === 0 ? null : Math.max(...times)
}

async function soakLane(options: SoakOptions, lane: Lane, merchant: Merchant) {
  const seconds = options.minutes * 60 - TAIL_MS / 1_000
  const over = new AbortController()
  const checking = checkDuringSoak(lane, merchant, over.signal)
  // Awaited below.
  checking.catch(() => {})
  try {
    const [injections] = await Promise.all([
      injectAll(options, lane, merchant, performance.now() + seconds * 1_000),
      load(options, merchant, seconds),
    ])
    over.abort()
    const violations = [...injections.flatMap((one) => one.violations), ...(await checking)]
    for (const { invariant, what } of violations)
      options.progress.say(`        ${invariant}: ${what}`)
    return { injections, violations }
  } finally {
    over.abort()
  }
}

/**
 * The simulation's traffic, with a fixed number of new payments per second, each carried on to its
 * last refund. Slow payments do not delay new ones.
 */
async function load(
  { seed, signal, progress }: SoakOptions,
  { sender, history }: Merchant,
  seconds: number,
): Promise<void> {
  const plans = makePlans(seededRandom(seed), Math.ceil(seconds * PAYMENTS_A_SECOND))
  const beganAt = performance.now()
  const begun = async (number: number) => {
    const dueAt = beganAt + (number * 1_000) / PAYMENTS_A_SECOND
    const earlyMs = Math.max(0, dueAt - performance.now())
    await delay(earlyMs, undefined, { signal }).catch(() => {})
  }
  const progressed = progress.begin('Soak', plans.length)
  await runTraffic({ plans, concurrency: CLIENTS, sender, history, signal, begun, progressed })
}

async function injectAll(
  { seed, signal, counted, progress }: SoakOptions,
  lane: Lane,
  merchant: Merchant,
  endsAt: number,
): Promise<SoakInjection[]> {
  const random = seededRandom(seed ^ 3)
  const choices = choicesOf(counted, lane)
  const injections: SoakInjection[] = []
  for (;;) {
    const gapMs = GAP_MS.min + random.below(GAP_MS.max - GAP_MS.min)
    const injection = random.pick(random.pick(choices))
    if (signal.aborted || performance.now() + gapMs > endsAt) return injections
    await delay(gapMs, undefined, { signal }).catch(() => {})
    const completed = await injectOnce({ lane, merchant, injection, signal })
    for (const { what } of completed.violations)
      progress.say(`failed  ${injection.fault}@${injection.point}: ${what}`)
    injections.push(completed)
  }
}

async function checkAtEnd(
  { lane, bystander }: PreparedLane,
  merchant: Merchant,
): Promise<Violation[]> {
  const { sender, history, signal } = merchant
  const limits = { concurrency: RETRYING_CLIENTS, seconds: RECOVERY_LIMIT_SECONDS }
  await awaitFinalAnswers({ sender, history, signal, ...limits })
  return await checkEverything(lane, merchant, bystander, { isConcurrent: true })
}
