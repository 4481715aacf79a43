// The verdict on a mutant, as report.json contains it.
import type { Case, Label, RunResult } from '../results.ts'
import { brokenRun, hasFailed, hasPassed, messageOf, readLabel } from '../results.ts'
import { Bystander } from '../bystander.ts'
import { faultNamed } from '../faults.ts'
import type { Environment } from '../environment.ts'
import type { Lane } from '../lane.ts'
import type { Role } from '../points.ts'
import type { Changes } from '../programs.ts'
import { runCase } from '../run-case.ts'
import type { LaneNeeds } from '../scenario.ts'
import { needsOf } from '../scenarios.ts'
import { runUntilInjected, runUntilInTime } from '../suite.ts'
import type { Progress } from '../../../bench/progress.ts'
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

interface RunContext {
  readonly environment: Environment
  readonly signal: AbortSignal
}

/** @param isEnough whether no further run is needed after this one. */
async function makeRuns(
  context: RunContext,
  subject: Subject,
  labels: readonly Label[],
  isEnough: (result: RunResult) => boolean = () => false,
): Promise<RunResult[]> {
  const results: RunResult[] = []
  // What a mutant is caught by may be a limit of time; the product may exceed one by chance.
  const repeat = subject.mutant === undefined ? runUntilInTime : runUntilInjected
  let place: (MutantLane & { readonly kind: string }) | undefined
  // A successor that has to load first comes too late for a zombie.
  const standbys = labels.flatMap((label) => rolesKilledBy(readLabel(label)))
  const make = async (run: Case) => {
    const needs = needsOf(run)
    const kind = JSON.stringify(needs)
    if (place !== undefined && place.kind !== kind) {
      await place.lane.remove()
      place = undefined
    }
    place ??= { kind, ...(await startLane(context, subject, { standbys, ...needs })) }
    return await makeRun(context, subject, place, run)
  }
  try {
    for (const label of labels) {
      if (context.signal.aborted) break
      const { result } = await repeat(
        async () => ({ result: await catchErrors(readLabel(label), subject, make) }),
        context.signal,
      )
      results.push(result)
      if (isEnough(result)) break
      if (!hasFailed(result)) continue
      // A failed run may leave anything behind, so the next one gets a new lane.
      await place?.lane.remove()
      place = undefined
    }
    return results
  } finally {
    await place?.lane.remove()
  }
}

/** A mutant may be too broken to make a run at all. */
async function catchErrors(
  run: Case,
  { mutant }: Subject,
  make: (run: Case) => Promise<RunResult>,
): Promise<RunResult> {
  const startedAt = performance.now()
  try {
    return await make(run)
  } catch (error) {
    return brokenRun(run, mutant, messageOf(error), performance.now() - startedAt)
  }
}

function rolesKilledBy({ injections }: Case): Role[] {
  const deadly = injections.filter(({ fault }) => faultNamed(fault).kills === true)
  return deadly.map(({ point }) => (point.startsWith('api/') ? 'api' : 'worker'))
}

interface MutantLane {
  readonly lane: Lane
  readonly bystander: Bystander
}

async function startLane(
  { environment, signal }: RunContext,
  { changes, settings: own, schema = [] }: Subject,
  needs: LaneNeeds,
): Promise<MutantLane> {
  const settings = { ...needs.settings, ...own }
  const lane = await environment.startLane({ ...(changes && { changes }), ...needs, settings })
  try {
    for (const statement of schema) await lane.owner.sql.unsafe(statement)
    return { lane, bystander: await Bystander.create(lane, signal) }
  } catch (error) {
    await lane.remove()
    throw error
  }
}

async function makeRun(
  { signal }: RunContext,
  { mutant }: Subject,
  place: MutantLane,
  run: Case,
): Promise<RunResult> {
  const named = mutant === undefined ? {} : { mutant }
  const { result } = await runCase({ ...place, signal, ...named }, run)
  return result
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
