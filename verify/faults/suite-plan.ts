// What the suite makes, stage by stage, and how much of it: what a full run of it costs is estimated, and what
// has to be left out, so that it ends in time, is drawn by the seed.
import { seededRandom } from '../simulate/random.ts'
import type { Case } from './case.ts'
import { planEvents } from './event-orders.ts'
import {
  isKill,
  needsServer,
  planProviders,
  planRuns,
  sample,
  VARIANTS,
  type CountedScenario,
  type DeeperOptions,
  type PlanOptions,
} from './plan.ts'
import { planReapings } from './reaping.ts'

export interface SuitePlan {
  /** Of a single fault. */
  readonly runs: readonly Case[]
  readonly pairs: DeeperOptions
  /** Whether every pair of durable states is struck as well. */
  readonly everyState: boolean
  readonly triples: DeeperOptions
  readonly events: readonly Case[]
  readonly reapings: readonly Case[]
  readonly providers: readonly Case[]
  /** How many there are of each kind, a line each, to be shown at the start. */
  readonly told: readonly string[]
}

/** How much of what could be made is made, from 0 to 1; of the pairs and triples, how many kill. */
export interface Shares {
  readonly variants: number
  readonly deeperKills: number
}

/** Processor seconds for each share as a whole, and for all that is not thinned. */
export interface Costs extends Shares {
  readonly fixed: number
}

/** As measured, of one processor. */
const SECONDS_OF = { killing: 0.6, other: 0.35 }
/** A run that is struck again recovers again. */
const DEEPER_BY = 1.5
/** Of the 75 minutes on two cores, 6 are for the mutants and for the soak beside all else, 17 for a slow machine. */
const BUDGET_SECONDS = 52 * 60 * 2

const DEEPER = { quick: { pairs: 20, triples: 5 }, full: { pairs: 5_000, triples: 200 } }

const USUAL: Shares = { variants: 1, deeperKills: 1 / 3 }
const LEAST: Shares = { variants: 0.05, deeperKills: 0.05 }
/** What is thinned first. */
const THINNED = ['variants', 'deeperKills'] as const

export function planSuite(counted: readonly CountedScenario[], options: PlanOptions): SuitePlan {
  const { quick, seed } = options
  const all = planRuns(counted, options)
  const counts = quick ? DEEPER.quick : DEEPER.full
  const events = planEvents(options)
  const reapings = planReapings(options)
  const providers = planProviders(counted, options)
  const beside = [...events, ...reapings, ...providers]
  const shares = quick ? USUAL : fitShares(costsOf(all, beside, counts.pairs + counts.triples))
  const runs = quick ? all : thin(all, shares, seed)
  const killShare = shares.deeperKills
  const pairs = { seed, count: counts.pairs, killShare }
  const triples = { seed: seed + 1, count: counts.triples, killShare }
  const everyState = !quick
  const plan = { runs, pairs, everyState, triples, events, reapings, providers }
  return { ...plan, told: describe(plan, quick ? runs : all) }
}

/** The shares by which it all fits, or the least ones. */
export function fitShares(costs: Costs, budget = BUDGET_SECONDS): Shares {
  let shares = USUAL
  for (const name of THINNED) {
    const rest = budget - costs.fixed - sumOf(costs, { ...shares, [name]: 0 })
    const fitting = costs[name] === 0 ? USUAL[name] : rest / costs[name]
    shares = { ...shares, [name]: Math.min(USUAL[name], Math.max(LEAST[name], fitting)) }
  }
  return shares
}

function sumOf(costs: Shares, shares: Shares): number {
  return THINNED.reduce((sum, name) => sum + costs[name] * shares[name], 0)
}

function costsOf(all: readonly Case[], beside: readonly Case[], deeper: number): Costs {
  const byKind = Map.groupBy(all, kindOf)
  const { killing, other } = SECONDS_OF
  return {
    fixed: secondsOf([...(byKind.get('swept') ?? []), ...beside]) + deeper * other * DEEPER_BY,
    variants: secondsOf(byKind.get('variant') ?? []),
    deeperKills: deeper * (killing - other) * DEEPER_BY,
  }
}

/** Of one processor. */
export function secondsOf(runs: readonly Case[]): number {
  const { killing, other } = SECONDS_OF
  const isDear = (run: Case) => isKill(run.strikes) || needsServer(run)
  return runs.reduce((sum, run) => sum + (isDear(run) ? killing : other), 0)
}

/** Nothing is left out of an operation. */
function kindOf({ scenario }: Case): 'swept' | 'variant' {
  return VARIANTS.includes(scenario) ? 'variant' : 'swept'
}

/** So many of each fault in each scenario as its share is, at least one. */
function thin(runs: readonly Case[], shares: Shares, seed: number): Case[] {
  const random = seededRandom(seed)
  const groups = Map.groupBy(runs, (run) => `${run.scenario}:${run.strikes[0]?.fault}`)
  const chosen = [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined || kindOf(first) === 'swept') return group
    return sample(random, group, Math.max(1, Math.round(group.length * shares.variants)))
  })
  const kept = new Set(chosen)
  return runs.filter((run) => kept.has(run))
}

function describe(plan: Omit<SuitePlan, 'told'>, all: readonly Case[]): string[] {
  const { runs, pairs, triples, events, reapings, providers } = plan
  const possible = Map.groupBy(all, ({ scenario }) => scenario)
  const byScenario = Map.groupBy(runs, ({ scenario }) => scenario)
  const single = [...possible].map(([scenario, own]) => {
    const made = byScenario.get(scenario)?.length ?? 0
    const of = made === own.length ? '' : ` of ${own.length}, drawn by the seed`
    return `  ${scenario}: ${made}${of}`
  })
  const deeper = pairs.count + triples.count
  const kills = Math.round(100 * pairs.killShare)
  const { killing, other } = SECONDS_OF
  const seconds =
    secondsOf([...runs, ...events, ...reapings, ...providers]) +
    deeper * (other + pairs.killShare * (killing - other)) * DEEPER_BY
  return [
    `Planned: ${runs.length} runs with one fault`,
    ...single,
    `  up to ${pairs.count} pairs and ${triples.count} triples, of which ${kills} % kill`,
    `  ${events.length} orders of events, ${reapings.length} contests of the reaper, ${providers.length} with other providers`,
    `  ${Math.round(seconds / 2 / 60)} min on two cores, without mutants and soak`,
  ]
}
