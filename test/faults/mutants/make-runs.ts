// Makes a few runs in a lane that is theirs alone, and is gone afterwards.
import { Bystander } from '../bystander.ts'
import { readLabel, type Case, type Label } from '../case.ts'
import type { Ground } from '../ground.ts'
import type { Lane } from '../lane.ts'
import { hasPassed, type RunResult } from '../results.ts'
import { runCase } from '../run-case.ts'
import { brokenRun } from '../suite.ts'
import type { Circumstances } from './mutant.ts'

/** What is run, and in which circumstances. */
export interface Subject {
  readonly root: string
  readonly circumstances?: Circumstances
  readonly schema?: readonly string[]
  /** The name of the mutant, when it is one. */
  readonly mutant?: string
}

interface Surroundings {
  readonly ground: Ground
  readonly signal: AbortSignal
}

/** @param isEnough whether no further run is needed after this one. */
export async function makeRuns(
  surroundings: Surroundings,
  subject: Subject,
  labels: readonly Label[],
  isEnough: (result: RunResult) => boolean = () => false,
): Promise<RunResult[]> {
  const results: RunResult[] = []
  let place: Place | undefined
  const make = async (run: Case) => {
    place ??= await settleIn(surroundings, subject)
    return await makeRun(surroundings, subject, place, run)
  }
  try {
    for (const label of labels) {
      if (surroundings.signal.aborted) break
      const result = await orBroken(readLabel(label), subject, make)
      results.push(result)
      if (isEnough(result)) break
      if (hasPassed(result)) continue
      // What a failed run has left behind is no concern of the next one.
      await place?.lane.remove()
      place = undefined
    }
    return results
  } finally {
    await place?.lane.remove()
  }
}

/** A mutant may be so broken that not even a run can be made. */
async function orBroken(
  run: Case,
  { mutant }: Subject,
  make: (run: Case) => Promise<RunResult>,
): Promise<RunResult> {
  const startedAt = performance.now()
  try {
    return await make(run)
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return brokenRun(run, mutant, what, performance.now() - startedAt)
  }
}

interface Place {
  readonly lane: Lane
  readonly bystander: Bystander
}

async function settleIn(
  { ground, signal }: Surroundings,
  { root, circumstances, schema = [] }: Subject,
): Promise<Place> {
  const settings = circumstances?.settings ?? {}
  const lane = await ground.startLane({ root, settings, hasSpares: false })
  try {
    for (const statement of schema) await lane.owner.sql.unsafe(statement)
    if (circumstances !== undefined) await haveKeys(lane, circumstances)
    return { lane, bystander: await Bystander.create(lane, signal) }
  } catch (error) {
    await lane.remove()
    throw error
  }
}

/** Has the provider keep idempotency keys, or forget them. */
async function haveKeys({ providerUrl }: Lane, { provider }: Circumstances): Promise<void> {
  const answer = await fetch(`${providerUrl}/_control/idempotency`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mode: provider }),
  })
  if (!answer.ok) throw new Error(`the mock provider answers ${answer.status}`)
}

async function makeRun(
  { signal }: Surroundings,
  { mutant }: Subject,
  place: Place,
  run: Case,
): Promise<RunResult> {
  const named = mutant === undefined ? {} : { mutant }
  const { result } = await runCase({ ...place, signal, ...named }, run)
  return result
}
