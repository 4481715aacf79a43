// The soak: minutes of steady load on one lane, with a fault of the catalogue every few seconds.
// What can be checked during the soak is, and all invariants are checked at its end, as after any
// run.
import { setTimeout as delay } from 'node:timers/promises'
import type { Plot } from '../../../bench/page.ts'
import type { Progress } from '../../../bench/progress.ts'
import { seededRandom } from '../../simulate/random.ts'
import { awaitFinalAnswers } from '../../simulate/await-final-answers.ts'
import type { Bystander } from '../bystander.ts'
import { checkEnds, checkRun } from '../checks.ts'
import type { Environment } from '../environment.ts'
import type { Lane } from '../lane.ts'
import { prepareLane } from '../prepared-lane.ts'
import type { CountedScenario } from '../plan.ts'
import { IDEMPOTENT } from '../providers.ts'
import type { RunResult, Violation } from '../results.ts'
import { RECOVERY_LIMIT_SECONDS, Merchant } from '../merchant.ts'
import { withOperator } from '../operator.ts'
import { plotsOf, type SoakRecord } from './curves.ts'
import { checkDuringSoak } from './checks.ts'
import { Load } from './load.ts'
import { Sampler } from './samples.ts'
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

export interface SoakOutcome {
  readonly result: RunResult
  readonly plots: readonly Plot[]
}

/** The pause between a recovery and the next fault. */
const GAP_MS = { min: 500, max: 3_000 }
/** No operation and no fault begins this shortly before the end. */
const TAIL_MS = 3_000
const RETRYING_CLIENTS = 16

/** A soak without a fault proves nothing. */
const NO_FAULT: Violation = {
  invariant: 0,
  what: 'no operation reached the point of any fault',
}

/** Returns undefined when it was interrupted. */
export async function soak(options: SoakOptions): Promise<SoakOutcome | undefined> {
  const { environment, progress, signal } = options
  const startedAt = performance.now()
  progress.say('Soak: starting its lane')
  const { lane, bystander } = await prepareLane({ environment, signal, ownServer: true }, {})
  try {
    const merchant = new Merchant(lane, await lane.createTenant(), signal)
    return await withOperator(lane, merchant.tenant, async () => {
      const record = await soakLane(options, lane, merchant)
      if (signal.aborted) return undefined
      progress.say('Soak: waiting for the last operations, then checking')
      const violations = [...record.violations, ...(await checkAtEnd(lane, merchant, bystander))]
      const durationMs = performance.now() - startedAt
      return {
        plots: plotsOf(record),
        result: resultOf(options, { record, violations, merchant, durationMs }),
      }
    })
  } finally {
    await lane.remove()
  }
}

async function soakLane(options: SoakOptions, lane: Lane, merchant: Merchant): Promise<SoakRecord> {
  const { minutes, seed, signal } = options
  const seconds = minutes * 60
  const load = new Load({ lane, merchant, seed, seconds: seconds - TAIL_MS / 1_000, signal })
  const sampler = new Sampler({ lane, merchant, load, seconds })
  const progressed = options.progress.begin('Soak', seconds)
  const over = new AbortController()
  const checking = checkDuringSoak(lane, merchant, over.signal)
  // Awaited below.
  checking.catch(() => {})
  const injecting = injectAll(options, {
    lane,
    merchant,
    endsAt: sampler.beganAt + seconds * 1_000 - TAIL_MS,
  })
  try {
    while (sampler.seconds < seconds && !signal.aborted) {
      await delay(1_000, undefined, { signal }).catch(() => {})
      await sampler.takeIfDue()
      progressed(Math.min(seconds, Math.round(sampler.seconds)))
    }
    const [injections] = await Promise.all([injecting, load.ended])
    over.abort()
    const violations = [
      ...injections.flatMap((injection) => injection.violations),
      ...(await checking),
    ]
    for (const { invariant, what } of violations)
      options.progress.say(`        ${invariant}: ${what}`)
    return { samples: sampler.samples, injections, violations }
  } finally {
    over.abort()
  }
}

interface InjectionTarget {
  readonly lane: Lane
  readonly merchant: Merchant
  readonly endsAt: number
}

async function injectAll(
  { seed, signal, counted, progress }: SoakOptions,
  { lane, merchant, endsAt }: InjectionTarget,
): Promise<SoakInjection[]> {
  const random = seededRandom(seed ^ 3)
  const choices = choicesOf(counted, lane)
  const beganAt = performance.now()
  const injections: SoakInjection[] = []
  for (;;) {
    const gapMs = GAP_MS.min + random.below(GAP_MS.max - GAP_MS.min)
    const injection = random.pick(random.pick(choices))
    if (signal.aborted || performance.now() + gapMs > endsAt) return injections
    await delay(gapMs, undefined, { signal }).catch(() => {})
    const seconds = (performance.now() - beganAt) / 1_000
    const completed = await injectOnce({ lane, merchant, injection, seconds, signal })
    for (const { what } of completed.violations)
      progress.say(`failed  ${injection.fault}@${injection.point}: ${what}`)
    injections.push(completed)
  }
}

async function checkAtEnd(
  lane: Lane,
  merchant: Merchant,
  bystander: Bystander,
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

interface CheckedSoak {
  readonly record: SoakRecord
  readonly violations: readonly Violation[]
  readonly merchant: Merchant
  readonly durationMs: number
}

function resultOf(
  { minutes, seed }: SoakOptions,
  { record, violations, merchant, durationMs }: CheckedSoak,
): RunResult {
  const injected = record.injections.filter(({ isInjected }) => isInjected)
  const longest = (times: readonly number[]) => (times.length === 0 ? null : Math.max(...times))
  const operations = merchant.history.operations.length
  return {
    case: `--soak ${minutes} --seed ${seed}`,
    scenario: 'soak',
    provider: IDEMPOTENT,
    // The curves show its faults. It does not count as a run with one fault, or with two.
    faults: [],
    points: [],
    mutant: null,
    struck: injected.length,
    violations: injected.length === 0 ? [...violations, NO_FAULT] : violations,
    recoveryMs: longest(injected.flatMap(({ recoveryMs }) => recoveryMs ?? [])),
    returnMs: longest(injected.flatMap(({ returnMs }) => returnMs ?? [])),
    outcome: `${operations} operations under ${injected.length} faults`,
    durationMs,
  }
}
