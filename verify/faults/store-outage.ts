// A fault: PostgreSQL crashes and comes back in the middle of a run. While it is away nothing is
// charged, and as soon as it accepts connections new payments succeed.
import type { Scene } from './faults.ts'
import { checkCallsWithoutStore } from './fencing.ts'
import type { Point } from './points.ts'
import { payAgain } from './shortage.ts'
import type { Verdict } from './watch.ts'

/** Crashes the server at once. Its restart and the next payment go on beside the run. */
export function strikeStore(scene: Scene, point: Point): Verdict {
  const { lane, meanwhile, isCrowded } = scene
  const calls = lane.process('worker').provider.passed
  const seen = calls.length
  const restarted = lane.crashServer()
  meanwhile(
    restarted.then(async () => {
      const acceptsAt = performance.now()
      const during = calls.slice(seen).filter(({ at }) => at < acceptsAt)
      // A call that a worker was about to make cannot be stopped. Another one must not follow it.
      const went = checkCallsWithoutStore('worker', during, isCrowded)
      return [...went, ...(await payAgain(scene, acceptsAt))]
    }),
  )
  return point.way === 'out' && point.moment === 'after' ? { do: 'pass' } : { do: 'end' }
}
