// PostgreSQL crashes and comes back, in the middle of a run. While it is away nothing is charged, and as soon
// as it accepts connections new payments succeed.
import { AUTOMATIC } from './payments.ts'
import type { Scene } from './faults.ts'
import type { Point } from './points.ts'
import type { Violation } from './results.ts'
import { Shop } from './shop.ts'
import type { Verdict } from './watch.ts'

/** The bound on the first payment that is begun when the server accepts connections again. */
const BACK_LIMIT_MS = 2_000

/** Crashes the server at once; its restart, and what is paid then, go on beside the run. */
export function strikeStore({ lane, shop, meanwhile }: Scene, point: Point): Verdict {
  const calls = lane.process('worker').provider.passed
  const seen = calls.length
  const restarted = lane.crashServer()
  meanwhile(
    restarted.then(async () => {
      const acceptsAt = performance.now()
      const during = calls.slice(seen).filter(({ at }) => at < acceptsAt)
      const next = new Shop(lane, await lane.createTenant(), shop.signal)
      await next.pay(AUTOMATIC)
      return [...judgeCalls(during), ...judgeReturn(performance.now() - acceptsAt)]
    }),
  )
  return point.way === 'out' && point.moment === 'after' ? { do: 'pass' } : { do: 'end' }
}

/** A call that a worker was about to make cannot be held back; what follows from it can. */
function judgeCalls(calls: readonly { readonly name: string }[]): Violation[] {
  const names = [...new Set(calls.map(({ name }) => name))]
  if (names.length <= 1) return []
  return [{ invariant: 8, what: `while the store was away: ${names.join(', ')}` }]
}

function judgeReturn(ms: number): Violation[] {
  if (ms <= BACK_LIMIT_MS) return []
  return [{ invariant: 7, what: `the first payment after the outage took ${Math.round(ms)} ms` }]
}
