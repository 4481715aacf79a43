// Runs the mutants, several at a time, until one of the runs that must show each has done so. The product itself
// is put to the same runs in the same circumstances: what breaks there proves nothing about a mutant.
import type { Progress } from '../../../bench/progress.ts'
import type { Label } from '../case.ts'
import type { Ground } from '../ground.ts'
import type { RunResult } from '../results.ts'
import { makeRuns, type Subject } from './make-runs.ts'
import { NO_ROW_SECURITY, type Mutant } from './mutant.ts'
import { readPatched } from './patch.ts'
import { judgeMutant, type MutantVerdict } from './verdict.ts'

const TRIES = 4

export interface MutantsOptions {
  readonly ground: Ground
  readonly progress: Progress
  /** Aborted when no more is wanted. */
  readonly signal: AbortSignal
  /** How many are run at a time. */
  readonly lanes: number
}

export interface MutantsOutcome {
  /** In the order of the mutants; of an aborted suite those that there are. */
  readonly verdicts: readonly MutantVerdict[]
  /** The runs of the product itself that were made beside them. */
  readonly controls: readonly RunResult[]
}

/**
 * @param made runs of the product in its usual circumstances, which need not be made again.
 */
export async function runMutants(
  options: MutantsOptions,
  mutants: readonly Mutant[],
  made: readonly RunResult[] = [],
): Promise<MutantsOutcome> {
  const controls = new Map<string, readonly RunResult[]>()
  const runs = new Map<Mutant, readonly RunResult[]>()
  const walled = new Map<Mutant, readonly RunResult[]>()
  const groups = Map.groupBy(mutants, circumstancesOf)
  await runAll(options, [
    ...[...groups].map(([name, group]) => async () => {
      controls.set(name, await runControl(options, group, made))
    }),
    ...mutants.map((mutant) => async () => {
      runs.set(mutant, await runMutant(options, mutant))
    }),
    ...mutants
      .filter(({ dropsTenant }) => dropsTenant)
      .map((mutant) => async () => {
        walled.set(mutant, await makeRuns(options, await subjectOf(mutant), mutant.shownBy))
      }),
  ])
  const verdicts = mutants.flatMap((mutant) => {
    const [own, control] = [runs.get(mutant), controls.get(circumstancesOf(mutant))]
    if (own === undefined || control === undefined) return []
    return judgeMutant(mutant, own, control, walled.get(mutant))
  })
  return { verdicts, controls: [...controls.values()].flat().filter((run) => !made.includes(run)) }
}

/** Mutants of the same circumstances have one control. */
function circumstancesOf({ circumstances }: Mutant): string {
  return JSON.stringify(circumstances ?? {})
}

async function runAll(
  { lanes, progress, signal }: MutantsOptions,
  tasks: readonly (() => Promise<void>)[],
): Promise<void> {
  const made = progress.begin('Mutants', tasks.length)
  let count = 0
  const queue = tasks.values()
  const work = async () => {
    for (const task of queue) {
      if (signal.aborted) return
      await task()
      made((count += 1))
    }
  }
  await Promise.all(Array.from({ length: lanes }, work))
}

/** The product in the runs that show the mutants, each of them once. */
async function runControl(
  options: MutantsOptions,
  mutants: readonly Mutant[],
  made: readonly RunResult[],
): Promise<RunResult[]> {
  const circumstances = mutants[0]?.circumstances
  const labels = new Set(mutants.flatMap(({ shownBy }): readonly Label[] => shownBy))
  const known = circumstances === undefined ? made.filter((run) => labels.has(run.case)) : []
  for (const run of known) labels.delete(run.case)
  const product = circumstances === undefined ? {} : { circumstances }
  return [...known, ...(await makeRuns(options, product, [...labels]))]
}

async function runMutant(options: MutantsOptions, mutant: Mutant): Promise<RunResult[]> {
  const { caughtBy, shownBy, schema = [], dropsTenant } = mutant
  const isCaught = ({ violations }: RunResult) =>
    violations.some(({ invariant }) => invariant === caughtBy)
  const unwalled = dropsTenant === undefined ? schema : [...schema, NO_ROW_SECURITY]
  const subject = { ...(await subjectOf(mutant)), schema: unwalled }
  // More than once: what happens at once may happen in the other order.
  const tries = Array.from({ length: TRIES }, () => shownBy).flat()
  return await makeRuns(options, subject, tries, isCaught)
}

async function subjectOf(mutant: Mutant): Promise<Subject> {
  return { ...mutant, changes: await readPatched(mutant.patches), mutant: mutant.name }
}
