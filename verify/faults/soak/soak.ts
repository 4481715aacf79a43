// The soak: minutes of steady load on one lane, with a fault of the catalogue every few seconds.
// What can be checked during the soak is, and all invariants are checked at its end, as after any
// run.
import { setTimeout as delay } from 'node:timers/promises'
import type { Progress } from '../../../bench/progress.ts'
import { startFigures } from '../../simulate/figures.ts'
import { makePlans } from '../../simulate/plans.ts'
import { seededRandom } from '../../simulate/random.ts'
import { awaitFinalAnswers } from '../../simulate/await-final-answers.ts'
import { createSender } from '../../simulate/sender.ts'
import { runTraffic } from '../../simulate/traffic.ts'
import { checkEnds, checkRun } from '../checks.ts'
import type { Environment } from '../environment.ts'
import type { Lane } from '../lane.ts'
import { prepareLane, type PreparedLane } from '../prepared-lane.ts'
import type { CountedScenario } from '../plan.ts'
import { IDEMPOTENT } from '../providers.ts'
import type { RunResult, Violation } from '../results.ts'
import { Merchant } from '../merchant.ts'
import { RECOVERY_LIMIT_SECONDS } from '../bounds.ts'
import { withOperator } from '../operator.ts'
import { checkDuringSoak } from './checks.ts'
import { choicesOf, injectOnce, type SoakInjection } from './injections.ts'

export interface SoakOptions {
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
        case: `--soak ${minutes} --seed ${seed}`,
        scenario: 'soak',
        provider: IDEMPOTENT,
        // It does not count as a run with one fault, or with two.
        faults: [],
        points: [],
        mutant: null,
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
      load(options, lane, merchant, seconds),
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
  lane: Lane,
  { tenant, history, recordIds }: Merchant,
  seconds: number,
): Promise<void> {
  const plans = makePlans(seededRandom(seed), Math.ceil(seconds * PAYMENTS_A_SECOND))
  const sender = createSender({
    baseUrl: lane.apiUrl,
    apiKey: tenant.apiKey,
    figures: startFigures(),
    dropPercent: () => 0,
    random: seededRandom(seed ^ 1),
    heard: recordIds,
  })
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
  await awaitFinalAnswers({
    sender,
    history,
    concurrency: RETRYING_CLIENTS,
    seconds: RECOVERY_LIMIT_SECONDS,
    signal,
    progressed: () => {},
  })
  await merchant.replay()
  const ends = checkEnds(lane.takeUnexpectedExits())
  const { processes } = lane
  const lines = [...(await lane.removeReplaced()), ...lane.takeLines()]
  return [
    ...ends,
    ...(await checkRun(lane, merchant, bystander, { lines, processes, isConcurrent: true })),
  ]
}
