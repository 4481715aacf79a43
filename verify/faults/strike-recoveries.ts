// Injects faults during recovery, and during the recovery from those. A run that misses its second
// fault proves nothing, so others take its place.
import { labelOf, type Case, type Label } from './case.ts'
import { planDeeper, planStates, type DeeperOptions, type Recovery } from './plan.ts'
import { brokenRun, isMissed, type RunResult } from './results.ts'
import type { SuitePlan } from './suite-plan.ts'
import type { Suite } from './suite.ts'

type Maker = Pick<Suite, 'run' | 'recoveries'>

/** How often missed runs are replaced. They are not repeated before. */
const ROUNDS = 3
const TRIES = 1
/** With a smaller share of complete runs a stage fails, because it proves too little. */
const STRUCK_SHARE = 0.5

export async function strikeRecoveries(suite: Maker, plan: SuitePlan): Promise<RunResult[]> {
  const { recoveries } = suite
  const states = plan.everyState ? await strikeStates(suite, recoveries) : []
  const pairs = await strikeDrawn(suite, recoveries, plan.pairs, 'Pairs')
  const triples = await strikeDrawn(suite, pairs.recoveries, plan.triples, 'Triples')
  return [...states, ...pairs.results, ...triples.results]
}

/** Tries the runs of each pair of durable states until one had both faults. */
async function strikeStates(suite: Maker, recoveries: readonly Recovery[]): Promise<RunResult[]> {
  const results: RunResult[] = []
  let open = planStates(recoveries)
  const wanted = open.length
  for (let round = 0; open.length > 0; round += 1) {
    const made = await suite.run(
      open.flatMap((choices) => choices[round] ?? []),
      'Pairs of states',
      TRIES,
    )
    results.push(...made)
    const missed = new Set(made.filter((run) => isMissed(run)).map((run) => run.case))
    open = open.filter((choices) => isAmong(missed, choices[round]) && round + 1 < choices.length)
  }
  return [...results, ...tooFew('Pairs of states', results, wanted)]
}

function isAmong(labels: ReadonlySet<Label>, run: Case | undefined): boolean {
  return run !== undefined && labels.has(labelOf(run))
}

interface Drawn {
  readonly results: readonly RunResult[]
  readonly recoveries: readonly Recovery[]
}

async function strikeDrawn(
  suite: Maker,
  recoveries: readonly Recovery[],
  options: DeeperOptions,
  what: string,
): Promise<Drawn> {
  const results: RunResult[] = []
  const seen: Recovery[] = []
  const made = new Set<Label>()
  let count = options.count
  for (let round = 0; round < ROUNDS && count > 0; round += 1) {
    const plan = planDeeper(recoveries, { ...options, seed: options.seed + round, count }, made)
    for (const run of plan) made.add(labelOf(run))
    const runs = await suite.run(plan, what, TRIES)
    results.push(...runs)
    seen.push(...suite.recoveries)
    count = runs.filter((run) => isMissed(run)).length
  }
  return { results: [...results, ...tooFew(what, results, options.count)], recoveries: seen }
}

function tooFew(what: string, results: readonly RunResult[], wanted: number): RunResult[] {
  const struck = results.filter((run) => !isMissed(run)).length
  // There may be fewer to draw, and an interrupted suite has made some of them only.
  const due = Math.min(wanted, results.length)
  if (struck >= due * STRUCK_SHARE) return []
  const told = `only ${struck} of ${due} ${what.toLowerCase()} had all of their faults injected`
  return [brokenRun({ scenario: what, strikes: [] }, undefined, told, 0)]
}
