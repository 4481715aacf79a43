// Runs the mutants, each in a lane of its own that is started from its tree, until one of the runs that must show
// it has done so.
import { Bystander } from '../bystander.ts'
import { readLabel } from '../case.ts'
import type { Ground } from '../ground.ts'
import type { Lane } from '../lane.ts'
import type { RunResult } from '../results.ts'
import { runCase } from '../run-case.ts'
import type { Mutant } from './mutant.ts'
import { makeTree } from './tree.ts'
import { judgeMutant, type MutantVerdict } from './verdict.ts'

export interface MutantsOptions {
  readonly ground: Ground
  readonly mutants: readonly Mutant[]
  /** How many are run at a time. */
  readonly lanes: number
  readonly signal: AbortSignal
  readonly judged: (verdict: MutantVerdict) => void
}

/** The verdicts, in the order of the mutants. */
export async function runMutants(options: MutantsOptions): Promise<MutantVerdict[]> {
  const { mutants, lanes, signal, judged } = options
  const verdicts = new Map<Mutant, MutantVerdict>()
  const queue = mutants.values()
  const work = async () => {
    for (const mutant of queue) {
      signal.throwIfAborted()
      const verdict = judgeMutant(mutant, await runMutant(options, mutant))
      verdicts.set(mutant, verdict)
      judged(verdict)
    }
  }
  await Promise.all(Array.from({ length: lanes }, work))
  return mutants.flatMap((mutant) => verdicts.get(mutant) ?? [])
}

/** The runs that were made of it: none after the one in which the invariant broke that must. */
export async function runMutant(
  { ground, signal }: Pick<MutantsOptions, 'ground' | 'signal'>,
  mutant: Mutant,
): Promise<RunResult[]> {
  const tree = await makeTree(mutant.patches)
  try {
    const settings = mutant.circumstances?.settings ?? {}
    const lane = await ground.startLane({ root: tree.root, settings })
    try {
      await prepare(lane, mutant)
      return await runUntilCaught(lane, mutant, signal)
    } finally {
      await lane.remove()
    }
  } finally {
    await tree.remove()
  }
}

async function prepare(lane: Lane, { schema = [], circumstances }: Mutant): Promise<void> {
  for (const statement of schema) await lane.owner.sql.unsafe(statement)
  if (circumstances === undefined) return
  const answer = await fetch(`${lane.providerUrl}/_control/idempotency`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mode: circumstances.provider }),
  })
  if (!answer.ok) throw new Error(`the mock provider answers ${answer.status}`)
}

async function runUntilCaught(
  lane: Lane,
  { name, shownBy, caughtBy }: Mutant,
  signal: AbortSignal,
): Promise<RunResult[]> {
  const bystander = await Bystander.create(lane, signal)
  const results: RunResult[] = []
  for (const label of shownBy) {
    signal.throwIfAborted()
    const { result } = await runCase({ lane, bystander, mutant: name, signal }, readLabel(label))
    results.push(result)
    if (result.violations.some(({ invariant }) => invariant === caughtBy)) break
  }
  return results
}
