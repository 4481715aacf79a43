// Runs the mutants and judges them: each must break the invariant that it names, in a run that the
// product itself passes. What breaks there proves nothing about a mutant.
import type { Case, Label, RunResult } from '../results.ts'
import { hasFailed, hasPassed, readLabel } from '../results.ts'
import { type PreparedLane, prepareLane } from '../bystander.ts'
import { faultNamed } from '../faults.ts'
import type { Environment } from '../environment.ts'
import type { Role } from '../points.ts'
import type { Changes } from '../programs.ts'
import { orBroken, runCase } from '../run-case.ts'
import { needsOf } from '../scenarios.ts'
import { runUntilInjected, runUntilInTime } from '../suite.ts'
import type { Progress } from '../../../bench/progress.ts'
import { inParallel } from '../../simulate/in-parallel.ts'
import { type Mutant, readPatched } from './mutants.ts'

export interface MutantVerdict {
  readonly name: string
  readonly breaks: string
  readonly must_break: number
  /**
   * The invariant that caught it; null when it survived, another invariant broke, or row-level
   * security did not stop it.
   */
  readonly caught_by: number | null
  /** The run that revealed it and its violation; for a survivor, what happened instead. */
  readonly case: Label | null
  readonly what: string
  readonly runs: number
}

export function isCaught({ caught_by: caughtBy }: MutantVerdict): boolean {
  return caughtBy !== null
}

/**
 * @param runs the runs of the mutant, in order.
 * @param controls the same runs of the product. One that fails proves nothing about the mutant.
 * @param withRowSecurity the runs with row-level security, for a mutant that removes a predicate on the
 *   tenant.
 */
export function judgeMutant(
  mutant: Mutant,
  runs: readonly RunResult[],
  controls: readonly RunResult[],
  withRowSecurity: readonly RunResult[] = [],
): MutantVerdict {
  const { name, breaks, caughtBy } = mutant
  const verdict = { name, breaks, must_break: caughtBy, runs: runs.length }
  const escaped = withRowSecurity.filter((run) => !hasPassed(run))
  if (escaped.length > 0) {
    const what = `row-level security did not stop it: ${describe(escaped)}`
    return { ...verdict, caught_by: null, case: null, what }
  }
  const sound = new Set(controls.filter((run) => hasPassed(run)).map((run) => run.case))
  for (const run of runs) {
    const found = run.violations.find(({ invariant }) => invariant === caughtBy)
    if (found === undefined || !sound.has(run.case)) continue
    return { ...verdict, caught_by: caughtBy, case: run.case, what: found.what }
  }
  const own = new Set(runs.map((run) => run.case))
  const unsound = controls.filter((run) => own.has(run.case) && !hasPassed(run))
  const what =
    unsound.length === 0
      ? describe(runs)
      : `the product itself fails ${unsound.map((run) => run.case).join(', ')}: ${describe(unsound)}`
  return { ...verdict, caught_by: null, case: null, what }
}

function describe(runs: readonly RunResult[]): string {
  if (runs.length === 0) return 'it was not run'
  const broken = runs.flatMap(({ violations }) => violations)
  if (broken.length > 0) {
    const shown = broken.map(({ invariant, what }) => `invariant ${invariant}: ${what}`)
    return `broken: ${[...new Set(shown)].join('; ')}`
  }
  const missed = runs.filter(({ struck, faults }) => struck < faults.length).length
  const tail =
    missed === 0 ? '' : `, and the fault was not injected in ${missed} of ${runs.length} runs`
  return `nothing broke${tail}`
}

/** The program under test, and its settings. */
interface Subject extends Pick<Mutant, 'settings' | 'schema'> {
  readonly changes?: Changes
  /** The name of the mutant; undefined for the product. */
  readonly mutant?: string
}

/**
 * Makes runs of a mutant, or of the product as its control, in lanes that are removed afterwards.
 *
 * @param isEnough whether no further run is needed after this one.
 */
async function makeRuns(
  { environment, signal }: MutantsOptions,
  { mutant, changes, schema, settings: own }: Subject,
  labels: readonly Label[],
  isEnough: (result: RunResult) => boolean = () => false,
): Promise<RunResult[]> {
  const results: RunResult[] = []
  // What a mutant is caught by may be a limit of time; the product may exceed one by chance.
  const repeat = mutant === undefined ? runUntilInTime : runUntilInjected
  // A successor that has to load first comes too late for a zombie.
  const standbys = labels.flatMap((label) => rolesKilledBy(readLabel(label)))
  let place: (PreparedLane & { readonly kind: string }) | undefined
  const leave = async () => {
    await place?.lane.remove()
    place = undefined
  }
  const make = async (run: Case) => {
    const needs = needsOf(run)
    const kind = JSON.stringify(needs)
    if (place?.kind !== kind) await leave()
    const settings = { ...needs.settings, ...own }
    const options = { ...(changes && { changes }), standbys, ...needs, settings }
    place ??= { kind, ...(await prepareLane({ environment, signal, schema }, options)) }
    return await runCase({ ...place, signal, mutant }, run)
  }
  try {
    for (const run of labels.map(readLabel)) {
      if (signal.aborted) break
      const { result } = await repeat(() => orBroken(run, mutant, () => make(run)), signal)
      results.push(result)
      if (isEnough(result)) break
      // A failed run may leave anything behind, so the next one gets a new lane.
      if (hasFailed(result)) await leave()
    }
    return results
  } finally {
    await leave()
  }
}

function rolesKilledBy({ injections }: Case): Role[] {
  const deadly = injections.filter(({ fault }) => faultNamed(fault).kills === true)
  return deadly.map(({ point }) => (point.startsWith('api/') ? 'api' : 'worker'))
}

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

interface MutantsOptions {
  readonly environment: Environment
  readonly progress: Progress
  /** Aborted to stop the suite early. */
  readonly signal: AbortSignal
  /** How many are run at a time. */
  readonly lanes: number
}

interface MutantsOutcome {
  /** In the order of the mutants; after an abort only those that were judged. */
  readonly verdicts: readonly MutantVerdict[]
  /** The control runs of the product itself. */
  readonly controls: readonly RunResult[]
}

/**
 * Runs the mutants, several at a time, until one of the runs that must reveal each has done so. The
 * product itself makes the same runs with the same settings, as a control.
 *
 * @param made runs of the product with its usual settings, which serve as controls.
 */
export async function runMutants(
  options: MutantsOptions,
  mutants: readonly Mutant[],
  made: readonly RunResult[] = [],
): Promise<MutantsOutcome> {
  const { lanes, progress, signal } = options
  const isolated = (mutant: Mutant) => `${mutant.name}, with row-level security`
  // Mutants with the same settings share a control.
  const control = ({ settings = {} }: Mutant) => `control ${JSON.stringify(settings)}`
  const tasks: (readonly [string, () => Promise<RunResult[]>])[] = [
    ...[...Map.groupBy(mutants, control)].map(
      ([name, group]) => [name, () => runControl(options, group, made)] as const,
    ),
    ...mutants.map((mutant) => [mutant.name, () => runMutant(options, mutant)] as const),
    ...mutants
      .filter(({ dropsTenant }) => dropsTenant)
      .map((mutant) => {
        const make = async () => makeRuns(options, await subjectOf(mutant), mutant.shownBy)
        return [isolated(mutant), make] as const
      }),
  ]
  const runs = new Map<string, readonly RunResult[]>()
  const progressed = progress.begin('Mutants', tasks.length)
  await inParallel(tasks, lanes, async ([name, make]) => {
    if (signal.aborted) return
    runs.set(name, await make())
    progressed(runs.size)
  })
  const verdicts = mutants.flatMap((mutant) => {
    const [own, controls] = [runs.get(mutant.name), runs.get(control(mutant))]
    if (own === undefined || controls === undefined) return []
    return judgeMutant(mutant, own, controls, runs.get(isolated(mutant)))
  })
  const controls = [...new Set(mutants.map(control))].flatMap((name) => runs.get(name) ?? [])
  return { verdicts, controls: controls.filter((run) => !made.includes(run)) }
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
  const catches = ({ violations }: RunResult) =>
    violations.some(({ invariant }) => invariant === caughtBy)
  const withoutRowSecurity = dropsTenant === undefined ? schema : [...schema, NO_ROW_SECURITY]
  const subject = { ...(await subjectOf(mutant)), schema: withoutRowSecurity }
  // More than once, because concurrent requests may be executed in the other order.
  const tries = Array.from({ length: TRIES }, () => shownBy).flat()
  return await makeRuns(options, subject, tries, catches)
}

async function subjectOf(mutant: Mutant): Promise<Subject> {
  return { ...mutant, changes: await readPatched(mutant.patches), mutant: mutant.name }
}
