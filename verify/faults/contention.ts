// Faults in which several processes compete for one operation: two workers with the same job, two
// sweepers and a client that retries, two APIs with the requests of one client.
import { setTimeout as wait } from 'node:timers/promises'
import type { Fault, FaultContext } from './fault.ts'
import type { Point } from './points.ts'
import type { ServiceProcess } from './service-process.ts'
import { expire, makeJobDue, rendezvous, untilWaiting } from './rendezvous.ts'
import { SHORT_LIMITS } from './short-limits.ts'
import { PASS } from './watch.ts'

const POLL_MS = 5

/** A call of an operation. A look-up may belong to an event, before there is an operation. */
const isCall = ({ peer, role, name }: Point) =>
  peer === 'provider' && role === 'worker' && !['provider-look', 'provider-dispute'].includes(name)

export const contentionFaults: readonly Fault[] = [
  {
    // The worker that has the job is suspended until another one has it, too. Then both claim.
    name: 'job-twice',
    appliesAt: ({ name, direction }) => name === 'fetch-operations' && direction === 'in',
    kills: true,
    contests: true,
    inject(context, { role }) {
      const first = context.lane.process(role)
      first.signal('SIGSTOP')
      context.trackWork(claimTwice(context, first))
      return PASS
    },
  },
  {
    // Two workers find the expired lease of a killed one while its client retries.
    name: 'sweepers-and-retry',
    appliesAt: isCall,
    kills: true,
    contests: true,
    inject(context, { role }) {
      const killed = context.lane.process(role)
      killed.signal('SIGKILL')
      context.trackWork(sweepTwice(context, killed))
      return { do: 'end' }
    },
  },
  {
    // The key expires while its operation is in progress: the reaper must leave it to the retry.
    name: 'reaper-and-retry',
    appliesAt: (point) => isCall(point) && point.message === 'request',
    contests: true,
    inject(context) {
      context.trackWork(reapInFlight(context))
      // The call is delayed until its row is locked.
      return { do: 'misbehave', fault: 'delay' }
    },
  },
  {
    // The API that has the request goes on with it, and the client retries at another one.
    name: 'client-elsewhere',
    appliesAt: ({ role }) => role === 'api',
    kills: true,
    inject({ lane }) {
      lane.moveClients()
      return PASS
    },
  },
]

async function claimTwice(
  { lane, merchant, reportMissed }: FaultContext,
  first: ServiceProcess,
): Promise<[]> {
  const contested = { lane, tenantId: merchant.tenant.id }
  try {
    const haveMet = await rendezvous(contested, 2, async () => {
      await lane.activateStandby('worker')
      await makeJobDue(contested)
      await untilWaiting(lane, 1)
      first.signal('SIGCONT')
    })
    if (!haveMet) reportMissed()
  } finally {
    first.signal('SIGCONT')
  }
  return []
}

/** Longer than the reaper pauses. */
const REAPING_MS = Number(SHORT_LIMITS.REAP_INTERVAL_MS) + 100

async function reapInFlight({ lane, merchant, reportMissed }: FaultContext): Promise<[]> {
  const contested = { lane, tenantId: merchant.tenant.id }
  await expire(contested, '-1 second')
  const isInFlight = await rendezvous(contested, 1, async () => {
    lane.cutClients()
    await wait(REAPING_MS)
  })
  await expire(contested, '1 hour')
  if (!isInFlight) reportMissed()
  return []
}

async function sweepTwice(
  { lane, merchant, reportMissed }: FaultContext,
  killed: ServiceProcess,
): Promise<[]> {
  const haveMet = await rendezvous(
    { lane, tenantId: merchant.tenant.id },
    2,
    async () => {
      while (lane.process('worker') === killed || !lane.isWhole) await wait(POLL_MS)
      await lane.activateStandby('worker')
    },
    () => lane.cutClients(),
  )
  if (!haveMet) reportMissed()
  return []
}
