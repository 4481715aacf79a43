// Plans the runs: every counted point with every fault that applies there, or a sample drawn by the
// seed. The same points and the same seed give the same plan.
import { type Random, seededRandom } from '../simulate/random.ts'
import { type Case, IDEMPOTENT, type Label, labelOf, providerKinds } from './results.ts'
import { durableStates, type Point } from './points.ts'
import { BASIC_FAULTS, type Fault, type Scenario } from './scenario.ts'
import { faultNamed, faults } from './faults.ts'
import { scenarioNamed } from './scenarios.ts'

/** The points of one scenario, in the order in which its counting run reached them. */
export interface CountedScenario {
  readonly scenario: string
  readonly points: readonly Point[]
}

/** The points that a run reached after its last fault. */
export interface Recovery {
  readonly run: Case
  readonly points: readonly Point[]
  /** The durable state in which the last fault was injected. */
  readonly durableState: string
}

export interface PlanOptions {
  readonly quick: boolean
  readonly seed: number
}

const MAIN_SCENARIO = 'payment.create'

/** The faults that end a process. */
const KILLING_FAULTS: readonly string[] = faults
  .filter(({ kills }) => kills)
  .map(({ name }) => name)

/**
 * What a quick plan has: points of the main scenario with one of the basic faults, all other runs, and
 * runs with each other provider.
 */
const MAIN_SAMPLE_SIZE = 20
const SAMPLE_SIZE = 60
const SAMPLE_SIZE_PER_PROVIDER = 1
const SCENARIO_SAMPLE_SIZE = 6

/** A quick plan has the needed scenarios, and a sample of the others. */
export function planScenarios(all: readonly string[], { quick, seed }: PlanOptions): string[] {
  if (!quick) return [...all]
  const isNeeded = (name: string) => scenarioNamed(name).isNeeded === true
  const others = all.filter((name) => !isNeeded(name))
  const drawn = sample(seededRandom(seed), others, SCENARIO_SAMPLE_SIZE)
  return all.filter((name) => isNeeded(name) || drawn.includes(name))
}

export function planRuns(
  counted: readonly CountedScenario[],
  { quick, seed }: PlanOptions,
  catalogue: readonly Fault[] = faults,
): Case[] {
  const all = counted.flatMap(({ scenario: name, points }) => {
    const scenario = scenarioNamed(name)
    return catalogue.flatMap((fault) =>
      points
        .filter((point) => fault.appliesAt(point) && isFitFor(scenario, fault, point))
        .map(({ label }): Case => ({
          scenario: name,
          injections: [{ fault: fault.name, point: label }],
        })),
    )
  })
  const random = seededRandom(seed)
  if (!quick) return spreadKills(shuffle(random, all))
  const basic = all.filter((run) => isOfMainScenario(run) && hasBasicFault(run))
  const byPoint = Map.groupBy(basic, ({ injections }) => injections[0]?.point)
  const main = [...byPoint.values()].map((runs) => random.pick(runs))
  const others = all.filter((run) => !basic.includes(run))
  const chosen = sample(random, main, MAIN_SAMPLE_SIZE)
  return spreadKills(shuffle(random, [...chosen, ...sampleOfEachFault(random, others)]))
}

/** A server with a standby, or one of an extra, is there for what happens to it. */
function isFitFor({ needs, strikes }: Scenario, fault: Fault, point: Point): boolean {
  if ((needs?.replicated === true) !== (fault.needsStandby === true)) return false
  if (fault.needsExtraServer === true && needs?.extraServer === undefined) return false
  return strikes?.(fault, point) ?? true
}

/** At least one run of each fault, as far as the sample reaches. */
function sampleOfEachFault(random: Random, runs: readonly Case[]): Case[] {
  const drawn = sample(random, runs, runs.length)
  const byFault = Map.groupBy(drawn, ({ injections }) => injections[0]?.fault)
  const ofEach = [...byFault.values()].flatMap((group) => group.slice(0, 1))
  return [...new Set([...ofEach, ...drawn])].slice(0, SAMPLE_SIZE)
}

/**
 * Plans the runs with each kind of provider except the usual one: every fault at the provider calls
 * of every operation. A quick plan has a few of them, drawn by the seed.
 */
export function planProviders(
  counted: readonly CountedScenario[],
  { quick, seed }: PlanOptions,
): Case[] {
  const runs = counted
    .filter(({ scenario }) => scenarioNamed(scenario).variant !== 'same calls')
    .flatMap(({ scenario, points }) =>
      points
        .filter(isAtCall)
        .flatMap((point) =>
          faults
            .filter((fault) => fault.appliesAt(point))
            .map(({ name }) => ({ scenario, injections: [{ fault: name, point: point.label }] })),
        ),
    )
  const chosen = quick ? sample(seededRandom(seed), runs, SAMPLE_SIZE_PER_PROVIDER) : runs
  return providerKinds
    .filter(({ name }) => name !== IDEMPOTENT)
    .flatMap(({ name, without }) =>
      chosen
        .filter(({ injections }) => !injections.some(({ fault }) => without.includes(fault)))
        .map((run): Case => ({ ...run, provider: name })),
    )
}

function isAtCall({ role, peer }: Point): boolean {
  return role === 'worker' && peer === 'provider'
}

/** The faults that are injected during a recovery. After each of them everything starts again. */
const NESTED_FAULTS: readonly string[] = ['SIGKILL', 'reset', 'zombie']

export interface NestedOptions {
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
 * @param excluded the labels that must not be drawn again.
 */
export function planNested(
  recoveries: readonly Recovery[],
  { seed, count, killShare }: NestedOptions,
  excluded: ReadonlySet<Label> = new Set(),
): Case[] {
  const random = seededRandom(seed)
  const usable = recoveries.filter(canInjectAgain)
  const gentle = usable.filter(({ run }) => !isKill(run.injections))
  const drawn = new Map<Label, Case>()
  if (usable.length === 0) return []
  for (let draws = 0; drawn.size < count && draws < count * DRAWS_EACH; draws += 1) {
    const isToKill = gentle.length === 0 || random.below(PARTS) < killShare * PARTS
    const run = addInjection(random, isToKill ? usable : gentle, isToKill)
    const label = labelOf(run)
    if (!excluded.has(label)) drawn.set(label, run)
  }
  return spreadKills([...drawn.values()])
}

function canInjectAgain({ run, points }: Recovery): boolean {
  return points.length > 0 && !needsServer(run)
}

const KILL = 'SIGKILL'

export function isKilledOnce({ injections }: Case): boolean {
  return injections.length === 1 && injections[0]?.fault === KILL
}

/** Alternatives for a pair of states, with different first faults: the second fault may miss. */
const ALTERNATIVES = 4

/**
 * Plans two kills for each pair of durable states: one in the first state, and one in a state of
 * the recovery from it. Each pair has a few alternative runs, of which one is enough.
 */
export function planStatePairs(recoveries: readonly Recovery[]): Case[][] {
  const pairs = new Map<string, Case[]>()
  const killed = recoveries.filter((one) => canInjectAgain(one) && isKilledOnce(one.run))
  for (const { run, points, durableState } of killed) {
    const states = durableStates(points, durableState)
    for (const [index, { label }] of points.entries()) {
      const pair = `${run.scenario} ${durableState} ${states[index]}`
      const choices = pairs.get(pair) ?? []
      pairs.set(pair, choices)
      const isOfLast = choices.at(-1)?.injections[0]?.point === run.injections[0]?.point
      if (choices.length === ALTERNATIVES || isOfLast) continue
      choices.push({ ...run, injections: [...run.injections, { fault: KILL, point: label }] })
    }
  }
  return [...pairs.values()]
}

const PARTS = 1_000

function addInjection(random: Random, recoveries: readonly Recovery[], isToKill: boolean): Case {
  const { run, points } = random.pick(recoveries)
  const point = random.pick(points)
  const fits = ({ kills }: Fault) => (isToKill ? isKill(run.injections) || kills : !kills)
  const candidates = faults.filter(
    (fault) => NESTED_FAULTS.includes(fault.name) && fault.appliesAt(point) && fits(fault),
  )
  const injection = { fault: random.pick(candidates).name, point: point.label }
  return { ...run, injections: [...run.injections, injection] }
}

/** Whether the run crashes the server, so that its lane needs a server to itself. */
export function needsServer({ injections }: Case): boolean {
  return injections.some(({ fault }) => faultNamed(fault).affectsServer === true)
}

export function isOfMainScenario({ scenario }: Case): boolean {
  return scenario === MAIN_SCENARIO
}

export function hasBasicFault({ injections }: Case): boolean {
  return BASIC_FAULTS.includes(injections[0]?.fault ?? '')
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
function spreadKills(runs: readonly Case[]): Case[] {
  const kills = runs.filter(({ injections }) => isKill(injections))
  const others = runs.filter(({ injections }) => !isKill(injections))
  const [more, fewer] = kills.length > others.length ? [kills, others] : [others, kills]
  return more.flatMap((run, index) => {
    const from = Math.floor((index * fewer.length) / more.length)
    const to = Math.floor(((index + 1) * fewer.length) / more.length)
    return [run, ...fewer.slice(from, to)]
  })
}

/** Whether it ends a process. */
export function isKill(injections: Case['injections']): boolean {
  return injections.some(({ fault }) => KILLING_FAULTS.includes(fault))
}
