// Plans the stages of the suite. It estimates the cost of a full run and leaves out as many runs as
// the time budget requires; the seed decides which.
import { seededRandom } from '../simulate/random.ts'
import { brokenRun, type Case, isMissed, type Label, labelOf, type RunResult } from './results.ts'
import type { CountedScenario, NestedOptions, PlanOptions, Recovery } from './plan.ts'
import {
  hasBasicFault,
  isKill,
  isOfMainScenario,
  needsServer,
  planNested,
  planProviders,
  planRuns,
  planStatePairs,
  sample,
} from './plan.ts'
import { neighbours as besideNeighbours } from './neighbours/scenarios.ts'
import { canceledAtOnce, cancelInVain, reaperContests } from './contests.ts'
import { comparisons as compared } from './holds.ts'
import { planEvents } from './event-orders.ts'
import type { Mutant } from './mutants/mutants.ts'
import type { Scenario } from './scenario.ts'
import type { Suite } from './suite.ts'
import { scenarioNamed } from './scenarios.ts'

const BACKLOGS = { quick: 'noisy-neighbour', full: 'noisy-neighbour.full' }

export function planNeighbours({ quick }: Pick<PlanOptions, 'quick'>): Case[] {
  const leftOut = quick ? BACKLOGS.full : BACKLOGS.quick
  return besideNeighbours
    .filter(({ name }) => name !== leftOut)
    .map(({ name }): Case => ({ scenario: name, injections: [] }))
}

interface SuitePlan {
  /** With one fault each. */
  readonly runs: readonly Case[]
  readonly pairs: NestedOptions
  /** Whether a kill is also injected in every pair of durable states. */
  readonly everyState: boolean
  readonly triples: NestedOptions
  readonly events: readonly Case[]
  /** With the reaper, and with a client that cancels its key. */
  readonly contests: readonly Case[]
  readonly comparisons: readonly Case[]
  readonly providers: readonly Case[]
  readonly neighbours: readonly Case[]
  /** The number of runs of each kind, one line each, printed at the start. */
  readonly summary: readonly string[]
}

/** What a full plan has less of when the time is short, in this order. */
const REDUCED = [
  /** Runs of variants. */
  'variants',
  /** Of the pairs and triples, those that kill a process. */
  'nestedKills',
  /** Pairs and triples. */
  'nested',
  /** Runs of operations, without those with a basic fault. */
  'others',
  /** Orders of events, contests, comparisons, and runs with other providers. */
  'beside',
  /** Runs with a basic fault in another operation than payment.create. */
  'basic',
  /** Runs with any other fault in payment.create. */
  'main',
] as const

/** What a plan has of everything that it could have, from 0 to 1. */
type Shares = Readonly<Record<(typeof REDUCED)[number], number>>

/** Processor seconds of each part at a share of 1, and of everything that is never reduced. */
interface Costs extends Shares {
  readonly fixed: number
}

/** Measured seconds of one processor for a run with USUAL_POINTS. A longer scenario takes longer. */
const SECONDS_PER_RUN = { killing: 0.6, other: 0.35 }
const USUAL_POINTS = 230
/** A run with a fault during its recovery recovers again. */
const NESTED_FACTOR = 1.5
/** For a machine with two cores on which a run takes SECONDS_PER_RUN. */
export const USUAL_MINUTES = 75
/** Of 75 minutes, 6 are for mutants and soak, and 17 are a reserve. */
const SHARE_OF_RUNS = 52 / 75

/** The processor seconds of the runs of a suite of so many minutes. */
export const budgetOf = (minutes: number): number => minutes * 60 * 2 * SHARE_OF_RUNS

const NESTED = { quick: { pairs: 3, triples: 1 }, full: { pairs: 5_000, triples: 200 } }

const each = (share: number) =>
  Object.fromEntries(REDUCED.map((name) => [name, share])) as unknown as Shares
const USUAL: Shares = { ...each(1), nestedKills: 1 / 3 }
const LEAST: Shares = { ...each(0.02), nestedKills: 0.05 }

interface SuiteOptions extends PlanOptions {
  readonly minutes: number
}

/** As many of the runs, drawn by the seed, as fit into the time. A quick suite is small already. */
export function fitMinutes(
  runs: readonly Case[],
  counted: readonly CountedScenario[],
  { quick, seed, minutes }: SuiteOptions,
): readonly Case[] {
  const share = quick ? 1 : budgetOf(minutes) / secondsOf(runs, counted)
  if (share >= 1) return runs
  return sample(seededRandom(seed), runs, Math.max(1, Math.floor(runs.length * share)))
}

export function planSuite(counted: readonly CountedScenario[], options: SuiteOptions): SuitePlan {
  const { quick, seed, minutes } = options
  const all = planRuns(counted, options)
  const counts = quick ? NESTED.quick : NESTED.full
  const events = planEvents(options)
  const contests = [
    ...repeat(reaperContests, quick ? 1 : CONTESTS),
    ...repeat([cancelInVain, ...canceledAtOnce], quick ? 1 : CONTESTS),
  ]
  const comparisons = repeat(compared, quick ? 1 : COMPARISONS)
  const providers = planProviders(counted, options)
  const neighbours = planNeighbours(options)
  const beside = [...events, ...contests, ...comparisons, ...providers]
  const nested = counts.pairs + counts.triples
  const shares = quick
    ? USUAL
    : fitShares(costsOf({ all, beside, nested, counted }), budgetOf(minutes))
  const runs = quick ? all : reduce(all, shares, seed)
  const killShare = shares.nestedKills
  const count = (full: number) => Math.round(full * shares.nested)
  const pairs = { seed, count: count(counts.pairs), killShare }
  const triples = { seed: seed + 1, count: count(counts.triples), killShare }
  const everyState = !quick
  const some = (cases: readonly Case[]) =>
    sample(seededRandom(seed), cases, Math.ceil(cases.length * shares.beside))
  const ones = {
    events: some(events),
    contests: some(contests),
    comparisons: some(comparisons),
    providers: some(providers),
    neighbours,
  }
  const plan = { runs, pairs, everyState, triples, ...ones }
  return { ...plan, summary: describe(plan, quick ? runs : all, counted) }
}

/** How often a full run has each of them, because timing plays a part. */
const CONTESTS = 20
const COMPARISONS = 5

function repeat(scenarios: readonly Scenario[], times: number): Case[] {
  return Array.from({ length: times }, () =>
    scenarios.map(({ name }): Case => ({ scenario: name, injections: [] })),
  ).flat()
}

const QUICK_MUTANTS = 3

/** A quick suite has a sample of the mutants, without those that take a minute: what neighbours show. */
export function planMutants(mutants: readonly Mutant[], { quick, seed }: PlanOptions): Mutant[] {
  if (!quick) return [...mutants]
  const withNeighbours = new Set(planNeighbours({ quick }).map((run) => labelOf(run)))
  const short = mutants.filter(({ shownBy }) => !shownBy.some((run) => withNeighbours.has(run)))
  const drawn = sample(seededRandom(seed), short, QUICK_MUTANTS)
  return mutants.filter((mutant) => drawn.includes(mutant))
}

/** Returns the shares that fit the budget, or the smallest ones. */
export function fitShares(costs: Costs, budget: number): Shares {
  let shares = USUAL
  for (const name of REDUCED) {
    const rest = budget - costs.fixed - sumOf(costs, { ...shares, [name]: 0 })
    const fitting = costs[name] === 0 ? USUAL[name] : rest / costs[name]
    shares = { ...shares, [name]: Math.min(USUAL[name], Math.max(LEAST[name], fitting)) }
  }
  return shares
}

function sumOf(costs: Shares, shares: Shares): number {
  return REDUCED.reduce((sum, name) => sum + costs[name] * shares[name], 0)
}

interface Planned {
  readonly all: readonly Case[]
  readonly beside: readonly Case[]
  /** The number of pairs and triples. */
  readonly nested: number
  readonly counted: readonly CountedScenario[]
}

function costsOf({ all, beside, nested, counted }: Planned): Costs {
  const byKind = Map.groupBy(all, kindOf)
  const seconds = (kind: ReturnType<typeof kindOf>) => secondsOf(byKind.get(kind) ?? [], counted)
  const { killing, other } = SECONDS_PER_RUN
  return {
    fixed: seconds('kept'),
    variants: seconds('variants'),
    nestedKills: nested * (killing - other) * NESTED_FACTOR,
    nested: nested * other * NESTED_FACTOR,
    others: seconds('others'),
    beside: secondsOf(beside, counted),
    basic: seconds('basic'),
    main: seconds('main'),
  }
}

/** Seconds of one processor. */
export function secondsOf(runs: readonly Case[], counted: readonly CountedScenario[]): number {
  const { killing, other } = SECONDS_PER_RUN
  const lengths = new Map(counted.map(({ scenario, points }) => [scenario, points.length]))
  const lengthOf = ({ scenario }: Case) =>
    Math.max(1, (lengths.get(scenario) ?? USUAL_POINTS) / USUAL_POINTS)
  const isDear = (run: Case) => isKill(run.injections) || needsServer(run)
  return runs.reduce((sum, run) => sum + (isDear(run) ? killing : other) * lengthOf(run), 0)
}

/** Never left out are, at each point of payment.create, the death of a process and a lost connection. */
function kindOf(run: Case): 'kept' | 'main' | 'basic' | 'variants' | 'others' {
  if (scenarioNamed(run.scenario).variant !== undefined) return 'variants'
  if (isOfMainScenario(run)) return hasBasicFault(run) ? 'kept' : 'main'
  return hasBasicFault(run) ? 'basic' : 'others'
}

/** Keeps a share of the runs for each fault in each scenario, at least one. */
function reduce(runs: readonly Case[], shares: Shares, seed: number): Case[] {
  const random = seededRandom(seed)
  const groups = Map.groupBy(runs, (run) => `${run.scenario}:${run.injections[0]?.fault}`)
  const chosen = [...groups.values()].flatMap((group) => {
    const [first] = group
    const kind = first && kindOf(first)
    if (kind === undefined || kind === 'kept') return group
    return sample(random, group, Math.max(1, Math.round(group.length * shares[kind])))
  })
  const kept = new Set(chosen)
  return runs.filter((run) => kept.has(run))
}

function describe(
  plan: Omit<SuitePlan, 'summary'>,
  all: readonly Case[],
  counted: readonly CountedScenario[],
): string[] {
  const { runs, pairs, triples, events, contests, comparisons, providers, neighbours } = plan
  const possible = Map.groupBy(all, ({ scenario }) => scenario)
  const byScenario = Map.groupBy(runs, ({ scenario }) => scenario)
  const single = [...possible].map(([scenario, planned]) => {
    const kept = byScenario.get(scenario)?.length ?? 0
    const of = kept === planned.length ? '' : ` of ${planned.length}, sampled by the seed`
    return `  ${scenario}: ${kept}${of}`
  })
  const nested = pairs.count + triples.count
  const kills = Math.round(100 * pairs.killShare)
  const { killing, other } = SECONDS_PER_RUN
  const seconds =
    secondsOf([...runs, ...events, ...contests, ...comparisons, ...providers], counted) +
    nested * (other + pairs.killShare * (killing - other)) * NESTED_FACTOR
  return [
    `Planned: ${runs.length} runs with one fault`,
    ...single,
    `  up to ${pairs.count} pairs and ${triples.count} triples of faults, ${kills} % of which kill a process`,
    `  ${events.length} orders of events, ${contests.length} contests with the reaper or a cancellation, ${comparisons.length} comparisons, ${providers.length} with other providers, ${neighbours.length} with neighbours`,
    `  about ${Math.round(seconds / 2 / 60)} min on two cores, without mutants and soak`,
  ]
}

type Runner = Pick<Suite, 'run' | 'recoveries'>

/** How often missed runs are replaced. They are not repeated before. */
const ROUNDS = 6
const TRIES = 1
/** With a smaller share of complete runs a stage fails, because it proves too little. */
const COMPLETE_SHARE = 0.5

export async function injectDuringRecovery(suite: Runner, plan: SuitePlan): Promise<RunResult[]> {
  const { recoveries } = suite
  const states = plan.everyState ? await runStatePairs(suite, recoveries) : []
  const pairs = await runNested(suite, recoveries, plan.pairs, 'Pairs')
  const triples = await runNested(suite, pairs.recoveries, plan.triples, 'Triples')
  return [...states, ...pairs.results, ...triples.results]
}

/** Tries the runs of each pair of durable states until one had both faults. */
async function runStatePairs(suite: Runner, recoveries: readonly Recovery[]): Promise<RunResult[]> {
  const results: RunResult[] = []
  let open = planStatePairs(recoveries)
  const wanted = open.length
  for (let round = 0; open.length > 0; round += 1) {
    const runs = await suite.run(
      open.flatMap((choices) => choices[round] ?? []),
      'Pairs of states',
      TRIES,
    )
    results.push(...runs)
    const missed = new Set(runs.filter((run) => isMissed(run)).map((run) => run.case))
    open = open.filter((choices) => isAmong(missed, choices[round]) && round + 1 < choices.length)
  }
  return [...results, ...failIfTooFew('Pairs of states', results, wanted)]
}

function isAmong(labels: ReadonlySet<Label>, run: Case | undefined): boolean {
  return run !== undefined && labels.has(labelOf(run))
}

interface NestedRuns {
  readonly results: readonly RunResult[]
  readonly recoveries: readonly Recovery[]
}

async function runNested(
  suite: Runner,
  recoveries: readonly Recovery[],
  options: NestedOptions,
  what: string,
): Promise<NestedRuns> {
  const results: RunResult[] = []
  const newRecoveries: Recovery[] = []
  const planned = new Set<Label>()
  let count = options.count
  for (let round = 0; round < ROUNDS && count > 0; round += 1) {
    const plan = planNested(recoveries, { ...options, seed: options.seed + round, count }, planned)
    for (const run of plan) planned.add(labelOf(run))
    const runs = await suite.run(plan, what, TRIES)
    results.push(...runs)
    newRecoveries.push(...suite.recoveries)
    count = runs.filter((run) => isMissed(run)).length
  }
  return {
    results: [...results, ...failIfTooFew(what, results, options.count)],
    recoveries: newRecoveries,
  }
}

function failIfTooFew(what: string, results: readonly RunResult[], wanted: number): RunResult[] {
  const complete = results.filter((run) => !isMissed(run)).length
  // There may be fewer to draw, and an interrupted suite has made some of them only.
  const due = Math.min(wanted, results.length)
  if (complete >= due * COMPLETE_SHARE) return []
  const message = `only ${complete} of ${due} ${what.toLowerCase()} had all of their faults injected`
  return [brokenRun({ scenario: what, injections: [] }, undefined, message, 0)]
}
