// The soak: minutes of steady load on one lane, with a fault of the catalogue every few seconds.
// What can be checked during the soak is, and all invariants are checked at its end, as after any
// run.
import { setTimeout as delay } from 'node:timers/promises'
import type { Plot } from '../../../bench/page.ts'
import type { Progress } from '../../../bench/progress.ts'
import { seededRandom } from '../../simulate/random.ts'
import { settle } from '../../simulate/settle.ts'
import type { Bystander } from '../bystander.ts'
import { checkEnds, checkRun } from '../checks.ts'
import type { Ground } from '../ground.ts'
import type { Lane } from '../lane.ts'
import { settleIn } from '../place.ts'
import type { CountedScenario } from '../plan.ts'
import { IDEMPOTENT } from '../providers.ts'
import type { RunResult, Violation } from '../results.ts'
import { RECOVERY_LIMIT_SECONDS, Shop } from '../shop.ts'
import { plotsOf, type Soaked } from './curves.ts'
import { judgeOnTheWay } from './judgements.ts'
import { Load } from './load.ts'
import { Sampler } from './samples.ts'
import { choicesOf, strikeOnce, type SoakStrike } from './strikes.ts'

export interface SoakOptions {
  readonly ground: Ground
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
const SETTLING_CLIENTS = 16

/** A soak without a fault proves nothing. */
const NEVER_STRUCK: Violation = {
  invariant: 0,
  what: 'no operation reached the point of any fault',
}

/** Returns undefined when it was interrupted. */
export async function soak(options: SoakOptions): Promise<SoakOutcome | undefined> {
  const { ground, progress, signal } = options
  const startedAt = performance.now()
  progress.say('Soak: starting its lane')
  const { lane, bystander } = await settleIn({ ground, signal, ownServer: true }, {})
  try {
    const shop = new Shop(lane, await lane.createTenant(), signal)
    const soaked = await soakLane(options, lane, shop)
    if (signal.aborted) return undefined
    progress.say('Soak: waiting for the last operations, then checking')
    const violations = [...soaked.violations, ...(await judge(lane, shop, bystander))]
    const durationMs = performance.now() - startedAt
    return {
      plots: plotsOf(soaked),
      result: resultOf(options, { soaked, violations, shop, durationMs }),
    }
  } finally {
    await lane.remove()
  }
}

async function soakLane(options: SoakOptions, lane: Lane, shop: Shop): Promise<Soaked> {
  const { minutes, seed, signal } = options
  const seconds = minutes * 60
  const load = new Load({ lane, shop, seed, seconds: seconds - TAIL_MS / 1_000, signal })
  const sampler = new Sampler({ lane, shop, load, seconds })
  const progressed = options.progress.begin('Soak', seconds)
  const over = new AbortController()
  const judging = judgeOnTheWay(lane, shop, over.signal)
  // Awaited below.
  judging.catch(() => {})
  const striking = strikeAll(options, {
    lane,
    shop,
    endsAt: sampler.beganAt + seconds * 1_000 - TAIL_MS,
  })
  try {
    while (sampler.seconds < seconds && !signal.aborted) {
      await delay(1_000, undefined, { signal }).catch(() => {})
      await sampler.takeIfDue()
      progressed(Math.min(seconds, Math.round(sampler.seconds)))
    }
    const [strikes] = await Promise.all([striking, load.ended])
    over.abort()
    const violations = [...strikes.flatMap((strike) => strike.found), ...(await judging)]
    for (const { invariant, what } of violations)
      options.progress.say(`        ${invariant}: ${what}`)
    return { samples: sampler.samples, strikes, violations }
  } finally {
    over.abort()
  }
}

interface Struck {
  readonly lane: Lane
  readonly shop: Shop
  readonly endsAt: number
}

async function strikeAll(
  { seed, signal, counted, progress }: SoakOptions,
  { lane, shop, endsAt }: Struck,
): Promise<SoakStrike[]> {
  const random = seededRandom(seed ^ 3)
  const choices = choicesOf(counted, lane)
  const beganAt = performance.now()
  const strikes: SoakStrike[] = []
  for (;;) {
    const gapMs = GAP_MS.min + random.below(GAP_MS.max - GAP_MS.min)
    const strike = random.pick(random.pick(choices))
    if (signal.aborted || performance.now() + gapMs > endsAt) return strikes
    await delay(gapMs, undefined, { signal }).catch(() => {})
    const seconds = (performance.now() - beganAt) / 1_000
    const made = await strikeOnce({ lane, shop, strike, seconds, signal })
    for (const { what } of made.found)
      progress.say(`failed  ${strike.fault}@${strike.point}: ${what}`)
    strikes.push(made)
  }
}

async function judge(lane: Lane, shop: Shop, bystander: Bystander): Promise<Violation[]> {
  const { sender, history, signal } = shop
  await settle({
    sender,
    history,
    concurrency: SETTLING_CLIENTS,
    seconds: RECOVERY_LIMIT_SECONDS,
    signal,
    progressed: () => {},
  })
  await shop.replay()
  const ends = checkEnds(lane.takeUnaskedEnds())
  const { processes } = lane
  const lines = [...(await lane.buryRetired()), ...lane.takeLines()]
  return [...ends, ...(await checkRun(lane, shop, bystander, { lines, processes }))]
}

interface Judged {
  readonly soaked: Soaked
  readonly violations: readonly Violation[]
  readonly shop: Shop
  readonly durationMs: number
}

function resultOf(
  { minutes, seed }: SoakOptions,
  { soaked, violations, shop, durationMs }: Judged,
): RunResult {
  const struck = soaked.strikes.filter(({ isStruck }) => isStruck)
  const longest = (times: readonly number[]) => (times.length === 0 ? null : Math.max(...times))
  const operations = shop.history.operations.length
  return {
    case: `--soak ${minutes} --seed ${seed}`,
    scenario: 'soak',
    provider: IDEMPOTENT,
    // The curves show its faults. It does not count as a run with one fault, or with two.
    faults: [],
    points: [],
    mutant: null,
    struck: struck.length,
    violations: struck.length === 0 ? [...violations, NEVER_STRUCK] : violations,
    unprovable: [],
    recoveryMs: longest(struck.flatMap(({ recoveryMs }) => recoveryMs ?? [])),
    returnMs: longest(struck.flatMap(({ returnMs }) => returnMs ?? [])),
    outcome: `${operations} operations under ${struck.length} faults`,
    durationMs,
  }
}
