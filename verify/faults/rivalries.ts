// Faults in which several processes compete for one operation: two workers with the same job, two
// sweepers and a client that retries, two APIs with the requests of one client.
import { setTimeout as wait } from 'node:timers/promises'
import type { Fault, Scene } from './faults.ts'
import type { Point } from './points.ts'
import type { ServiceProcess } from './service-process.ts'
import { expire, giveOutAgain, meet, untilWaiting } from './rivals.ts'
import { SHORT_LIMITS } from './short-limits.ts'
import { PASS } from './watch.ts'

const POLL_MS = 5

/** A call of an operation. A look-up may belong to an event, before there is an operation. */
const isCall = ({ of, role, name }: Point) =>
  of === 'provider' && role === 'worker' && name !== 'provider-look'

export const rivalries: readonly Fault[] = [
  {
    // The worker that has the job is suspended until another one has it, too. Then both claim.
    name: 'job-twice',
    strikesAt: ({ name, way }) => name === 'fetch-operations' && way === 'in',
    kills: true,
    contests: true,
    strike(scene, { role }) {
      const first = scene.lane.process(role)
      first.signal('SIGSTOP')
      scene.meanwhile(holdTwice(scene, first))
      return PASS
    },
  },
  {
    // Two workers find the expired lease of a third one, which was killed, while its client
    // retries.
    name: 'sweepers-and-retry',
    strikesAt: isCall,
    kills: true,
    contests: true,
    strike(scene, { role }) {
      const killed = scene.lane.process(role)
      killed.signal('SIGKILL')
      scene.meanwhile(sweepTwice(scene, killed))
      return { do: 'end' }
    },
  },
  {
    // The key expires while its operation is in progress and its client retries. The reaper must
    // leave it.
    name: 'reaper-and-retry',
    strikesAt: (point) => isCall(point) && point.message === 'request',
    contests: true,
    strike(scene) {
      scene.meanwhile(reapInFlight(scene))
      // The call is delayed until its row is locked.
      return { do: 'misbehave', fault: 'delay' }
    },
  },
  {
    // The API that has the request goes on with it, and the client retries at another one.
    name: 'client-elsewhere',
    strikesAt: ({ role }) => role === 'api',
    kills: true,
    strike({ lane }) {
      lane.moveClients()
      return PASS
    },
  },
]

async function holdTwice({ lane, shop, missed }: Scene, first: ServiceProcess): Promise<[]> {
  const contested = { lane, tenantId: shop.tenant.id }
  try {
    const haveMet = await meet(contested, 2, async () => {
      await lane.succeed('worker')
      await giveOutAgain(contested)
      await untilWaiting(lane, 1)
      first.signal('SIGCONT')
    })
    if (!haveMet) missed()
  } finally {
    first.signal('SIGCONT')
  }
  return []
}

/** Longer than the reaper pauses. */
const REAPING_MS = Number(SHORT_LIMITS.REAP_INTERVAL_MS) + 100

async function reapInFlight({ lane, shop, missed }: Scene): Promise<[]> {
  const contested = { lane, tenantId: shop.tenant.id }
  await expire(contested, '-1 second')
  const isInFlight = await meet(contested, 1, async () => {
    lane.cutClients()
    await wait(REAPING_MS)
  })
  await expire(contested, '1 hour')
  if (!isInFlight) missed()
  return []
}

async function sweepTwice({ lane, shop, missed }: Scene, killed: ServiceProcess): Promise<[]> {
  const haveMet = await meet(
    { lane, tenantId: shop.tenant.id },
    2,
    async () => {
      while (lane.process('worker') === killed || !lane.isWhole) await wait(POLL_MS)
      await lane.succeed('worker')
    },
    () => lane.cutClients(),
  )
  if (!haveMet) missed()
  return []
}
