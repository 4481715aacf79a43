// What the suite makes, stage by stage, and how much of it: what a full run of it costs is estimated, and what
// has to be left out, so that it ends in time, is drawn by the seed.
import { seededRandom } from '../../simulate/random.ts'
import type { Case } from './case.ts'
import { planEvents } from './event-orders.ts'
import {
  isKill,
  isSwept,
  needsServer,
  planProviders,
  planRuns,
  sample,
  SWEEPING,
  SWEPT,
  type CountedScenario,
  type DeeperOptions,
  type PlanOptions,
} from './plan.ts'
import { planReapings } from './reaping.ts'

export interface SuitePlan {
  /** Of a single fault. */
  readonly runs: readonly Case[]
  readonly pairs: DeeperOptions
  readonly triples: DeeperOptions
  readonly events: readonly Case[]
  readonly reapings: readonly Case[]
  readonly providers: readonly Case[]
  /** How many there are of each kind, a line each, to be shown at the start. */
  readonly told: readonly string[]
}

/** How much of what could be made is made, from 0 to 1; of the pairs and triples, how many kill. */
export interface Shares {
  readonly follow: number
  readonly deeperKills: number
  readonly others: number
}

/** Processor seconds for each share as a whole, and for all that is not thinned. */
export interface Costs extends Shares {
  readonly fixed: number
}

/** As measured, of one processor. */
const SECONDS_OF = { killing: 1.3, other: 0.45 }
/** Of the 75 minutes on two cores, 15 are the soak's and 3 the mutants'. */
const BUDGET_SECONDS = 57 * 60 * 2

const DEEPER = { quick: { pairs: 20, triples: 5 }, full: { pairs: 5_000, triples: 300 } }

const USUAL: Shares = { follow: 1, deeperKills: 1 / 3, others: 1 }
const LEAST: Shares = { follow: 0.1, deeperKills: 0.1, others: 0.05 }
/** What is thinned first: operations are worth more than what is only looked at, and pairs need not kill. */
const THINNED = ['follow', 'deeperKills', 'others'] as const

const FOLLOWING = 'payment.follow'

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
  const pairs = { seed, count: counts.pairs, killShare: shares.deeperKills }
  const triples = { ...pairs, seed: seed + 1, count: counts.triples }
  const plan = { runs, pairs, triples, events, reapings, providers }
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
    fixed: secondsOf([...(byKind.get('swept') ?? []), ...beside]) + deeper * other,
    follow: secondsOf(byKind.get('follow') ?? []),
    deeperKills: deeper * (killing - other),
    others: secondsOf(byKind.get('others') ?? []),
  }
}

/** Of one processor. */
export function secondsOf(runs: readonly Case[]): number {
  const { killing, other } = SECONDS_OF
  const isDear = (run: Case) => isKill(run.strikes) || needsServer(run)
  return runs.reduce((sum, run) => sum + (isDear(run) ? killing : other), 0)
}

/** Nothing is left out of a payment under each fault, nor of each operation under the faults that sweep. */
function kindOf(run: Case): 'swept' | 'follow' | 'others' {
  if (run.scenario === FOLLOWING) return 'follow'
  const isOfSweep = SWEEPING.includes(run.strikes[0]?.fault ?? '')
  return run.scenario === SWEPT || isSwept(run) || isOfSweep ? 'swept' : 'others'
}

/** So many of each fault in each scenario as its share is, at least one. */
function thin(runs: readonly Case[], shares: Shares, seed: number): Case[] {
  const random = seededRandom(seed)
  const groups = Map.groupBy(runs, (run) => `${run.scenario}:${run.strikes[0]?.fault}`)
  const chosen = [...groups.values()].flatMap((group) => {
    const [first] = group
    const kind = first === undefined ? 'swept' : kindOf(first)
    if (kind === 'swept') return group
    return sample(random, group, Math.max(1, Math.round(group.length * shares[kind])))
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
    deeper * (other + pairs.killShare * (killing - other))
  return [
    `Planned: ${runs.length} runs with one fault`,
    ...single,
    `  up to ${pairs.count} pairs and ${triples.count} triples, of which ${kills} % kill`,
    `  ${events.length} orders of events, ${reapings.length} contests of the reaper, ${providers.length} with other providers`,
    `  ${Math.round(seconds / 2 / 60)} min on two cores, without mutants and soak`,
  ]
}
