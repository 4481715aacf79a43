// PostgreSQL crashes and comes back, in the middle of a run. While it is away nothing is charged, and as soon
// as it accepts connections new payments succeed.
import { checkReturn } from './bounds.ts'
import { AUTOMATIC } from './payments.ts'
import type { Scene } from './faults.ts'
import type { Point } from './points.ts'
import type { Violation } from './results.ts'
import { Shop } from './shop.ts'
import type { Verdict } from './watch.ts'

/** Crashes the server at once; its restart, and what is paid then, go on beside the run. */
export function strikeStore({ lane, shop, meanwhile, returned }: Scene, point: Point): Verdict {
  const calls = lane.process('worker').provider.passed
  const seen = calls.length
  const restarted = lane.crashServer()
  meanwhile(
    restarted.then(async () => {
      const acceptsAt = performance.now()
      const during = calls.slice(seen).filter(({ at }) => at < acceptsAt)
      const next = new Shop(lane, await lane.createTenant(), shop.signal)
      await next.pay(AUTOMATIC)
      const ms = performance.now() - acceptsAt
      returned(ms)
      return [...judgeCalls(during), ...checkReturn(ms)]
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
