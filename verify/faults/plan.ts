// Which runs are made: of the points that were counted, each with every fault that can strike there, or a
// sample of them that is drawn from a seed. The same points and the same seed make the same plan.
import { seededRandom, type Random } from '../simulate/random.ts'
import { labelOf, type Case, type Label } from './case.ts'
import { durableStates } from './durable-states.ts'
import { faultNamed, faults, type Fault } from './faults.ts'
import type { Point } from './points.ts'
import { IDEMPOTENT, providerKinds } from './providers.ts'

/** The points of one scenario, in the order in which its counting run came to them. */
export interface CountedScenario {
  readonly scenario: string
  readonly points: readonly Point[]
}

/** The points that a run came to after it was struck. */
export interface Recovery {
  readonly of: Case
  readonly points: readonly Point[]
  /** The class of durable state in which it was struck. */
  readonly struckIn: string
}

export interface PlanOptions {
  readonly quick: boolean
  readonly seed: number
}

/** The scenario of which no point is left out, and the faults that it meets at each. */
export const SWEPT = 'payment.create'
export const SWEEPING: readonly string[] = ['SIGKILL', 'reset']

/** The faults that cost a process. */
const KILLING: readonly string[] = faults.filter(({ kills }) => kills).map(({ name }) => name)

/** So many of all other runs are made when there is little time. */
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

/** Of an operation that is swept as a whole, with another end. */
export const VARIANTS: readonly string[] = ['payment.create.declined', 'payment.create.manual']

/**
 * The runs for each kind of provider but the usual one: every fault around the calls of every operation; in a
 * hurry a few of them that the seed draws.
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

/** The faults that strike a recovery: those after which everything is begun anew. */
const DEEPER: readonly string[] = ['SIGKILL', 'reset', 'zombie']

export interface DeeperOptions {
  readonly seed: number
  readonly count: number
  /** How many of them cost a process, from 0 to 1. */
  readonly killShare: number
}

/** Two of a kind are drawn now and then. */
const DRAWS_EACH = 4

/**
 * Crashes during recovery: of those that were seen, so many that are drawn by the seed, each struck once more.
 *
 * @param made what is not to be drawn again.
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

/** So many runs, each of another first strike, may show a pair of states: the second may not find its point. */
const CHOICES = 4

/**
 * Killed in each durable state, and in each one that the recovery from that has come to: for each pair of states a
 * few runs, of which one is enough.
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

/** Whether the run crashes the server, which no other lane may stand on. */
export function needsServer({ strikes }: Case): boolean {
  return strikes.some(({ fault }) => faultNamed(fault).strikesServer === true)
}

export function isSwept({ scenario, strikes }: Case): boolean {
  return scenario === SWEPT && SWEEPING.includes(strikes[0]?.fault ?? '')
}

/** So many of them, each at most once, in an order of chance. */
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

/** Some faults keep a lane waiting and others the processors busy: in turns, both are used. */
function shuffle<Item>(random: Random, items: readonly Item[]): Item[] {
  return sample(random, items, items.length)
}

/**
 * Kills between other runs, as far as there are any: while those go on, the next process is made ready to
 * stand by.
 */
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

/** Whether it costs a process. */
export function isKill(strikes: Case['strikes']): boolean {
  return strikes.some(({ fault }) => KILLING.includes(fault))
}
