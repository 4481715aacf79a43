// A fault: PostgreSQL crashes and comes back in the middle of a run. While it is away nothing is
// charged, and as soon as it accepts connections new payments succeed.
import type { FaultContext } from './fault.ts'
import { checkCallsWithoutStore } from './fencing.ts'
import type { Point } from './points.ts'
import { payAgain } from './shortage.ts'
import type { Action } from './watch.ts'

/** Crashes the server at once. Its restart and the next payment go on beside the run. */
export function crashStore(context: FaultContext, point: Point): Action {
  const { lane, trackWork, isConcurrent } = context
  const calls = lane.process('worker').provider.requests
  const callsBefore = calls.length
  const restarted = lane.crashServer()
  trackWork(
    restarted.then(async () => {
      const acceptsAt = performance.now()
      const during = calls.slice(callsBefore).filter(({ at }) => at < acceptsAt)
      // A call that a worker was about to make cannot be stopped. Another one must not follow it.
      const went = checkCallsWithoutStore('worker', during, isConcurrent)
      return [...went, ...(await payAgain(context, acceptsAt))]
    }),
  )
  return point.direction === 'out' && point.moment === 'after' ? { do: 'pass' } : { do: 'end' }
}
