// Faults: something happens to the primary, and its synchronous standby is promoted. Nothing that was
// accepted is lost, and new payments soon succeed. The former primary comes back in the middle of it.
import { setTimeout as wait } from 'node:timers/promises'
import type { ReplicatedServer } from '../../test/support/replicated-postgres.ts'
import { isCommitBoundary } from './durable-states.ts'
import type { Fault, FaultContext } from './fault.ts'
import { Merchant } from './merchant.ts'
import { AUTOMATIC } from './payments.ts'
import type { Violation } from './results.ts'
import { createTenantWhenServed } from './shortage.ts'
import { PASS, type Action } from './watch.ts'

/** From the promotion until a payment begun then has succeeded. */
const FAILOVER_LIMIT_MS = 10_000
/** How long the former primary works again before it is stopped. */
const RETURN_MS = 300
const POLL_MS = 50
const UNAUTHORIZED = 401

interface Happening {
  readonly name: string
  readonly strike: (primary: ReplicatedServer) => Promise<void> | void
  /** What becomes of the message of the point. */
  readonly action: Action
}

const happenings: readonly Happening[] = [
  { name: 'failover-killed', strike: (primary) => primary.kill(), action: { do: 'end' } },
  {
    name: 'failover-cut-off',
    strike: (primary) => primary.relay.cut(),
    action: { do: 'stall' },
  },
  { name: 'failover-frozen', strike: (primary) => primary.freeze(), action: { do: 'stall' } },
  { name: 'failover-fenced', strike: (primary) => primary.makeReadOnly(), action: PASS },
]

export const failovers: readonly Fault[] = happenings.map(({ name, strike, action }) => ({
  name,
  appliesAt: isCommitBoundary,
  affectsServer: true,
  needsStandby: true,
  inject(context) {
    context.trackWork(failOver(context, strike))
    return action
  },
}))

async function failOver(
  { lane, merchant: { signal } }: FaultContext,
  strike: Happening['strike'],
): Promise<Violation[]> {
  const { replicated } = lane.options.server
  if (replicated === undefined) throw new Error('the server of the lane has no standby')
  await strike(replicated.primary)
  const former = await replicated.promote()
  const promotedAt = performance.now()
  const next = new Merchant(lane, await createTenantWhenServed(lane, signal), signal)
  let answer = await next.pay(AUTOMATIC)
  // The API may still read from the former primary, which does not know the tenant.
  while (answer.status === UNAUTHORIZED && performance.now() - promotedAt < FAILOVER_LIMIT_MS) {
    await wait(POLL_MS)
    answer = await next.pay(AUTOMATIC)
  }
  const { status, resource } = answer
  const ms = Math.round(performance.now() - promotedAt)
  await former.thaw()
  former.relay.heal()
  await wait(RETURN_MS)
  await former.stop()
  await replicated.attachStandby()
  const what = `the first payment after the promotion was answered ${status} ${resource.status ?? ''}`
  const late = `it took ${ms} ms after the promotion`
  return [
    ...(resource.status === 'succeeded' ? [] : [{ invariant: 7, what }]),
    ...(ms > FAILOVER_LIMIT_MS ? [{ invariant: 7, what: late, isLate: true } as const] : []),
  ]
}
