// Plans the stages of the suite. It estimates the cost of a full run and leaves out as many runs as
// the time budget requires; the seed decides which.
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
  /** With one fault each. */
  readonly runs: readonly Case[]
  readonly pairs: DeeperOptions
  /** Whether a kill is also injected in every pair of durable states. */
  readonly everyState: boolean
  readonly triples: DeeperOptions
  readonly events: readonly Case[]
  readonly reapings: readonly Case[]
  readonly providers: readonly Case[]
  /** The number of runs of each kind, one line each, printed at the start. */
  readonly told: readonly string[]
}

/**
 * The share of variants that are run, and of pairs and triples that kill a process, from 0 to 1.
 */
export interface Shares {
  readonly variants: number
  readonly deeperKills: number
}

/** Processor seconds of each part at a share of 1, and of everything that is never reduced. */
export interface Costs extends Shares {
  readonly fixed: number
}

/** Measured seconds of one processor for a run. */
const SECONDS_OF = { killing: 0.6, other: 0.35 }
/** A run with a fault during its recovery recovers again. */
const DEEPER_BY = 1.5
/**
 * Of 75 minutes on two cores, 6 are for mutants and soak, and 17 are a reserve for slow machines.
 */
const BUDGET_SECONDS = 52 * 60 * 2

const DEEPER = { quick: { pairs: 20, triples: 5 }, full: { pairs: 5_000, triples: 200 } }

const USUAL: Shares = { variants: 1, deeperKills: 1 / 3 }
const LEAST: Shares = { variants: 0.05, deeperKills: 0.05 }
/** In the order in which they are reduced. */
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

/** Returns the shares that fit the budget, or the smallest ones. */
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

/** Seconds of one processor. */
export function secondsOf(runs: readonly Case[]): number {
  const { killing, other } = SECONDS_OF
  const isDear = (run: Case) => isKill(run.strikes) || needsServer(run)
  return runs.reduce((sum, run) => sum + (isDear(run) ? killing : other), 0)
}

/** Runs of the operations themselves are never left out, only runs of their variants. */
function kindOf({ scenario }: Case): 'swept' | 'variant' {
  return VARIANTS.includes(scenario) ? 'variant' : 'swept'
}

/** Keeps a share of the variants for each fault in each scenario, at least one. */
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
    const of = made === own.length ? '' : ` of ${own.length}, sampled by the seed`
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
    `  up to ${pairs.count} pairs and ${triples.count} triples of faults, ${kills} % of which kill a process`,
    `  ${events.length} orders of events, ${reapings.length} contests with the reaper, ${providers.length} with other providers`,
    `  about ${Math.round(seconds / 2 / 60)} min on two cores, without mutants and soak`,
  ]
}
