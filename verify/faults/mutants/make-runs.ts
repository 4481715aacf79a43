// Makes a few runs of a mutant, or of the product as its control, in a lane that is removed
// afterwards.
import { Bystander } from '../bystander.ts'
import { readLabel, type Case, type Label } from '../case.ts'
import { faultNamed } from '../faults.ts'
import type { Environment } from '../environment.ts'
import type { Lane } from '../lane.ts'
import type { Role } from '../points.ts'
import type { Changes } from '../programs.ts'
import { brokenRun, hasFailed, messageOf, type RunResult } from '../results.ts'
import { runCase } from '../run-case.ts'
import type { LaneNeeds } from '../scenario.ts'
import { needsOf } from '../scenarios.ts'
import { runUntilInjected, runUntilInTime } from '../run-until-injected.ts'
import type { Mutant } from './mutant.ts'

/** The program under test, and its settings. */
export interface Subject extends Pick<Mutant, 'settings' | 'schema'> {
  readonly changes?: Changes
  /** The name of the mutant; undefined for the product. */
  readonly mutant?: string
}

interface RunContext {
  readonly environment: Environment
  readonly signal: AbortSignal
}

/** @param isEnough whether no further run is needed after this one. */
export async function makeRuns(
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
