// Injects faults during recovery, and during the recovery from those. A run that misses its second
// fault proves nothing, so others take its place.
import { labelOf, type Case, type Label } from './case.ts'
import { planNested, planStatePairs, type NestedOptions, type Recovery } from './plan.ts'
import { brokenRun, isMissed, type RunResult } from './results.ts'
import type { SuitePlan } from './suite-plan.ts'
import type { Suite } from './suite.ts'

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
