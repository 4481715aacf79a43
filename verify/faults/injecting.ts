// Injects the faults of a run, or of a soak, and collects what comes of them.
import type { Injection, Violation } from './results.ts'
import { faultNamed } from './faults.ts'
import type { FaultContext } from './fault.ts'
import type { Lane } from './lane.ts'

interface Injecting {
  /** How many faults reached their point but had no effect there. */
  misses: number
  /** How long it took until new payments succeeded after an outage of PostgreSQL. */
  returnMs: number | null
  /** Resolves when the work that faults began so far is done, with what it found. */
  readonly untilWorkDone: () => Promise<Violation[]>
}

/** From now on the faults are injected at their points, one after the other. */
export function startInjecting(
  { lane, merchant, isConcurrent }: Pick<FaultContext, 'lane' | 'merchant' | 'isConcurrent'>,
  injections: readonly Injection[],
): Injecting {
  const work: Promise<readonly Violation[]>[] = []
  const injecting: Injecting = {
    misses: 0,
    returnMs: null,
    untilWorkDone: async () => (await Promise.all(work)).flat(),
  }
  const context: FaultContext = {
    lane,
    merchant,
    isConcurrent,
    trackWork: (begun) =>
      void work.push(begun.catch((error: unknown) => [{ invariant: 7, what: String(error) }])),
    reportReturn: (ms) => void (injecting.returnMs = ms),
    reportMissed: () => void (injecting.misses += 1),
  }
  lane.watch.begin(injections, ({ fault }, point) => faultNamed(fault).inject(context, point))
  return injecting
}

/** Releases everything that faults held back, even if no process waits for it any more. */
export async function releaseAll(lane: Lane): Promise<void> {
  // The stand-ins answer the requests that they left unanswered.
  await lane.removeFaults()
  for (const { store, provider, extra } of lane.processes) {
    store.dropStalled()
    extra?.dropStalled()
    provider.dropStalled()
    provider.endGathering()
    await provider.releaseDeferred()
  }
}
