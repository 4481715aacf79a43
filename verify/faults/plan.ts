// Plans the runs: every counted point with every fault that applies there, or a sample drawn by the
// seed. The same points and the same seed give the same plan.
import { seededRandom, type Random } from '../simulate/random.ts'
import { labelOf, type Case, type Label } from './case.ts'
import { durableStates } from './durable-states.ts'
import { faultNamed, faults, type Fault } from './faults.ts'
import type { Point } from './points.ts'
import { IDEMPOTENT, providerKinds } from './providers.ts'

/** The points of one scenario, in the order in which its counting run reached them. */
export interface CountedScenario {
  readonly scenario: string
  readonly points: readonly Point[]
}

/** The points that a run reached after its last fault. */
export interface Recovery {
  readonly of: Case
  readonly points: readonly Point[]
  /** The durable state in which the last fault was injected. */
  readonly struckIn: string
}

export interface PlanOptions {
  readonly quick: boolean
  readonly seed: number
}

/** Even a quick plan has every point of this scenario with each of these faults. */
export const SWEPT = 'payment.create'
export const SWEEPING: readonly string[] = ['SIGKILL', 'reset']

/** The faults that end a process. */
const KILLING: readonly string[] = faults.filter(({ kills }) => kills).map(({ name }) => name)

/** How many of all other runs a quick plan has, and how many with each other provider. */
const SAMPLED = 60
const SAMPLED_OF_PROVIDER = 6

export function planRuns(
  counted: readonly CountedScenario[],
  { quick, seed }: PlanOptions,
  catalogue: readonly Fault[] = faults,
): Case[] {
  const all = counted.flatMap(({ scenario, points }) =>
    catalogue.flatMap((fault) =>
      points
        .filter((point) => fault.strikesAt(point))
        .map(({ label }): Case => ({ scenario, strikes: [{ fault: fault.name, point: label }] })),
    ),
  )
  const random = seededRandom(seed)
  if (!quick) return spread(shuffle(random, all))
  const swept = all.filter((run) => isSwept(run))
  const others = all.filter((run) => !isSwept(run))
  return spread(shuffle(random, [...swept, ...sample(random, others, SAMPLED)]))
}

/**
 * Variants of an operation, with another result. The operation itself is always covered in full.
 */
export const VARIANTS: readonly string[] = ['payment.create.declined', 'payment.create.manual']

/**
 * Plans the runs with each kind of provider except the usual one: every fault at the provider calls
 * of every operation. A quick plan has a few of them, drawn by the seed.
 */
export function planProviders(
  counted: readonly CountedScenario[],
  { quick, seed }: PlanOptions,
): Case[] {
  const runs = counted
    .filter(({ scenario }) => !VARIANTS.includes(scenario))
    .flatMap(({ scenario, points }) =>
      points
        .filter(isAtCall)
        .flatMap((point) =>
          faults
            .filter((fault) => fault.strikesAt(point))
            .map(({ name }) => ({ scenario, strikes: [{ fault: name, point: point.label }] })),
        ),
    )
  const chosen = quick ? sample(seededRandom(seed), runs, SAMPLED_OF_PROVIDER) : runs
  return providerKinds
    .filter(({ name }) => name !== IDEMPOTENT)
    .flatMap(({ name }) => chosen.map((run): Case => ({ ...run, provider: name })))
}

function isAtCall({ role, of }: Point): boolean {
  return role === 'worker' && of === 'provider'
}

/** The faults that are injected during a recovery. After each of them everything starts again. */
const DEEPER: readonly string[] = ['SIGKILL', 'reset', 'zombie']

export interface DeeperOptions {
  readonly seed: number
  readonly count: number
  /** The share that kills a process, from 0 to 1. */
  readonly killShare: number
}

/** Limits the draws, because a draw may repeat an earlier one. */
const DRAWS_EACH = 4

/**
 * Plans faults during recovery: `count` recoveries, drawn by the seed, get one more fault each.
 *
 * @param made the labels that must not be drawn again.
 */
export function planDeeper(
  recoveries: readonly Recovery[],
  { seed, count, killShare }: DeeperOptions,
  made: ReadonlySet<Label> = new Set(),
): Case[] {
  const random = seededRandom(seed)
  const usable = recoveries.filter(canBeStruckAgain)
  const gentle = usable.filter(({ of }) => !isKill(of.strikes))
  const drawn = new Map<Label, Case>()
  if (usable.length === 0) return []
  for (let draws = 0; drawn.size < count && draws < count * DRAWS_EACH; draws += 1) {
    const isToKill = gentle.length === 0 || random.below(PARTS) < killShare * PARTS
    const run = strikeOnceMore(random, isToKill ? usable : gentle, isToKill)
    const label = labelOf(run)
    if (!made.has(label)) drawn.set(label, run)
  }
  return spread([...drawn.values()])
}

function canBeStruckAgain({ of, points }: Recovery): boolean {
  return points.length > 0 && !needsServer(of)
}

const KILL = 'SIGKILL'

export function isKilledOnce({ strikes }: Case): boolean {
  return strikes.length === 1 && strikes[0]?.fault === KILL
}

/** Alternatives for a pair of states, with different first faults: the second fault may miss. */
const CHOICES = 4

/**
 * Plans two kills for each pair of durable states: one in the first state, and one in a state of
 * the recovery from it. Each pair has a few alternative runs, of which one is enough.
 */
export function planStates(recoveries: readonly Recovery[]): Case[][] {
  const pairs = new Map<string, Case[]>()
  const killed = recoveries.filter((one) => canBeStruckAgain(one) && isKilledOnce(one.of))
  for (const { of, points, struckIn } of killed) {
    const states = durableStates(points, struckIn)
    for (const [index, { label }] of points.entries()) {
      const pair = `${of.scenario} ${struckIn} ${states[index]}`
      const choices = pairs.get(pair) ?? []
      pairs.set(pair, choices)
      const isOfLast = choices.at(-1)?.strikes[0]?.point === of.strikes[0]?.point
      if (choices.length === CHOICES || isOfLast) continue
      choices.push({ ...of, strikes: [...of.strikes, { fault: KILL, point: label }] })
    }
  }
  return [...pairs.values()]
}

const PARTS = 1_000

function strikeOnceMore(random: Random, recoveries: readonly Recovery[], isToKill: boolean): Case {
  const { of, points } = random.pick(recoveries)
  const point = random.pick(points)
  const isWanted = ({ kills }: Fault) => (isToKill ? isKill(of.strikes) || kills : !kills)
  const able = faults.filter(
    (fault) => DEEPER.includes(fault.name) && fault.strikesAt(point) && isWanted(fault),
  )
  const strike = { fault: random.pick(able).name, point: point.label }
  return { ...of, strikes: [...of.strikes, strike] }
}

/** Whether the run crashes the server, so that its lane needs a server to itself. */
export function needsServer({ strikes }: Case): boolean {
  return strikes.some(({ fault }) => faultNamed(fault).strikesServer === true)
}

export function isSwept({ scenario, strikes }: Case): boolean {
  return scenario === SWEPT && SWEEPING.includes(strikes[0]?.fault ?? '')
}

/** Draws `count` different choices, in random order. */
export function sample<Choice>(
  random: Random,
  choices: readonly Choice[],
  count: number,
): Choice[] {
  const rest = [...choices]
  return Array.from({ length: Math.min(count, rest.length) }, () => {
    const [chosen] = rest.splice(random.below(rest.length), 1)
    return chosen as Choice
  })
}

/** Some faults make a lane wait and others use the processors. A mixed order uses both. */
function shuffle<Item>(random: Random, items: readonly Item[]): Item[] {
  return sample(random, items, items.length)
}

/** Distributes kills evenly among other runs, during which the next standby process can load. */
function spread(runs: readonly Case[]): Case[] {
  const kills = runs.filter(({ strikes }) => isKill(strikes))
  const others = runs.filter(({ strikes }) => !isKill(strikes))
  const [more, fewer] = kills.length > others.length ? [kills, others] : [others, kills]
  return more.flatMap((run, index) => {
    const from = Math.floor((index * fewer.length) / more.length)
    const to = Math.floor(((index + 1) * fewer.length) / more.length)
    return [run, ...fewer.slice(from, to)]
  })
}

/** Whether it ends a process. */
export function isKill(strikes: Case['strikes']): boolean {
  return strikes.some(({ fault }) => KILLING.includes(fault))
}
