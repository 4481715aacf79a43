// Runs the mutants, several at a time, until one of the runs that must reveal each has done so. The
// product itself makes the same runs with the same settings, as a control: what breaks there
// proves nothing about a mutant.
import type { Progress } from '../../../bench/progress.ts'
import type { Label } from '../case.ts'
import type { Environment } from '../environment.ts'
import type { RunResult } from '../results.ts'
import { makeRuns, type Subject } from './make-runs.ts'
import type { Mutant } from './mutant.ts'
import { readPatched } from './patch.ts'
import { judgeMutant, type MutantVerdict } from './verdict.ts'

const TRIES = 4

/** Disables row-level security. */
const NO_ROW_SECURITY = `
  do $$
  declare
    walled regclass;
  begin
    for walled in select oid::regclass from pg_class where relrowsecurity loop
      execute format('alter table %s disable row level security', walled);
    end loop;
  end
  $$
`

export interface MutantsOptions {
  readonly environment: Environment
  readonly progress: Progress
  /** Aborted to stop the suite early. */
  readonly signal: AbortSignal
  /** How many are run at a time. */
  readonly lanes: number
}

export interface MutantsOutcome {
  /** In the order of the mutants; after an abort only those that were judged. */
  readonly verdicts: readonly MutantVerdict[]
  /** The control runs of the product itself. */
  readonly controls: readonly RunResult[]
}

/**
 * @param made runs of the product with its usual settings, which serve as controls.
 */
export async function runMutants(
  options: MutantsOptions,
  mutants: readonly Mutant[],
  made: readonly RunResult[] = [],
): Promise<MutantsOutcome> {
  const controls = new Map<string, readonly RunResult[]>()
  const runs = new Map<Mutant, readonly RunResult[]>()
  const withRowSecurity = new Map<Mutant, readonly RunResult[]>()
  const groups = Map.groupBy(mutants, settingsOf)
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
        withRowSecurity.set(
          mutant,
          await makeRuns(options, await subjectOf(mutant), mutant.shownBy),
        )
      }),
  ])
  const verdicts = mutants.flatMap((mutant) => {
    const [own, control] = [runs.get(mutant), controls.get(settingsOf(mutant))]
    if (own === undefined || control === undefined) return []
    return judgeMutant(mutant, own, control, withRowSecurity.get(mutant))
  })
  return { verdicts, controls: [...controls.values()].flat().filter((run) => !made.includes(run)) }
}

/** Mutants with the same settings share a control. */
function settingsOf({ settings = {} }: Mutant): string {
  return JSON.stringify(settings)
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

/** Runs the product in the runs that reveal the mutants, each of them once. */
async function runControl(
  options: MutantsOptions,
  mutants: readonly Mutant[],
  made: readonly RunResult[],
): Promise<RunResult[]> {
  const settings = mutants[0]?.settings
  const labels = new Set(mutants.flatMap(({ shownBy }): readonly Label[] => shownBy))
  const known = settings === undefined ? made.filter((run) => labels.has(run.case)) : []
  for (const run of known) labels.delete(run.case)
  return [...known, ...(await makeRuns(options, { settings }, [...labels]))]
}

async function runMutant(options: MutantsOptions, mutant: Mutant): Promise<RunResult[]> {
  const { caughtBy, shownBy, schema = [], dropsTenant } = mutant
  const isCaught = ({ violations }: RunResult) =>
    violations.some(({ invariant }) => invariant === caughtBy)
  const withoutRowSecurity = dropsTenant === undefined ? schema : [...schema, NO_ROW_SECURITY]
  const subject = { ...(await subjectOf(mutant)), schema: withoutRowSecurity }
  // More than once, because concurrent requests may be executed in the other order.
  const tries = Array.from({ length: TRIES }, () => shownBy).flat()
  return await makeRuns(options, subject, tries, isCaught)
}

async function subjectOf(mutant: Mutant): Promise<Subject> {
  return { ...mutant, changes: await readPatched(mutant.patches), mutant: mutant.name }
}
