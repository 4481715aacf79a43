// Faults in which several processes compete for one operation, or that last for a while: two workers
// with the same job, two sweepers and a client that retries, a zombie that resumes in the middle of its
// successor's work. The rivals meet at a lock on the row of the operation, and go on together.
import { setTimeout as wait } from 'node:timers/promises'
import type { Sql, Transaction } from '../../src/db/connection/client.ts'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { wake } from './lane-jobs.ts'
import type { Lane } from './lane.ts'
import { poll } from './poll.ts'
import type { Fault, FaultContext } from './scenario.ts'
import { isRepeated, type Point } from './points.ts'
import type { ServiceProcess } from './service-process.ts'
import { PASS } from './watch.ts'
import { SHORT_LIMITS } from './lane-parts.ts'

/** Enough for a process to start and a lease to expire. */
const RENDEZVOUS_LIMIT_MS = 15_000

/** The open operation of a tenant. */
export interface Contested {
  readonly lane: Lane
  readonly tenantId: string
}

/**
 * Locks the row of the operation, waits until enough sessions wait for it, and releases it.
 *
 * @param start makes the sessions come, once the row is locked.
 * @param onRelease called when they have met, a moment before they go on.
 * @returns whether they have met.
 */
export async function rendezvous(
  { lane, tenantId }: Contested,
  sessions: number,
  start: () => Promise<void>,
  onRelease: () => void = () => {},
): Promise<boolean> {
  return await inTransaction(lane.owner.sql, async (tx) => {
    const rows = await tx`
      select from idempotency_keys where tenant_id = ${tenantId} and status <> 'completed' for update
    `
    if (rows.length === 0) return false
    const arrival = start().then(() => untilWaiting(lane, sessions))
    // A session may itself be hit by a fault. The lock does not last until it has recovered.
    const haveMet = await Promise.race([arrival, wait(RENDEZVOUS_LIMIT_MS, false, { ref: false })])
    onRelease()
    return haveMet
  })
}

/** Whether enough sessions of the service wait for a lock in time. */
export async function untilWaiting({ owner: { sql } }: Lane, sessions: number): Promise<boolean> {
  const isWaiting = async () => (await countWaiting(sql)) >= sessions
  return await poll(RENDEZVOUS_LIMIT_MS, isWaiting, { pauseMs: 5 })
}

/** How many sessions of the service wait for a lock. */
export async function countWaiting(sql: Sql | Transaction): Promise<number> {
  const { count } = await sql`
    select from pg_stat_activity
    where datname = current_database() and application_name like 'atomic-payments%'
      and wait_event_type = 'Lock'
  `
  return count
}

/** Makes the job of the operation due again while a worker has it. */
export async function makeJobDue({ lane, tenantId }: Contested): Promise<void> {
  const { sql } = lane.owner
  await sql`
    update atomic_jobs.job set state = 'retry', start_after = now() - interval '1 second'
    where name = 'operations' and data ->> 'tenantId' = ${tenantId} and state in ('active', 'retry')
  `
  wake(sql)
}

/** Sets when the key of the open operation expires, relative to now. */
export async function expire({ lane, tenantId }: Contested, after: string): Promise<void> {
  await inTransaction(lane.owner.sql, async (tx) => {
    // The triggers must not record it: it is no move of the service.
    await tx`set local session_replication_role = replica`
    await tx`
      update idempotency_keys set expires_at = now() + ${after}::interval
      where tenant_id = ${tenantId} and status <> 'completed'
    `
  })
}

/** Shorter than a lease, longer than the other process needs. */
const OVERTAKING_MS = 600
/** Longer than a phase takes, shorter than a lease. */
const ABSENCE_MS = 500

export const outages: readonly Fault[] = [
  {
    // Follows a zombie: the zombie resumes, and its successor is suspended in the same phase.
    name: 'overtake',
    appliesAt: () => false,
    inject({ lane }, { role }) {
      const current = lane.process(role)
      standStill(current, OVERTAKING_MS)
      const former = lane.processes.filter((one) => one.role === role && one !== current)
      for (const process of former) process.signal('SIGCONT')
      return PASS
    },
  },
  {
    // Another API gets the client's next try. It waits for the key until PostgreSQL ends the session of the
    // first one, which was idle in its transaction for too long. At the end of the run that one resumes.
    name: 'suspended-with-key',
    appliesAt: isWithinIntent,
    kills: true,
    contests: true,
    inject(context, { role }) {
      context.lane.process(role).signal('SIGSTOP')
      context.lane.moveClients()
      context.trackWork(missUnlessWaiting(context))
      return PASS
    },
  },
  {
    name: 'store-away',
    appliesAt: ({ role }) => role === 'worker',
    inject({ lane }, { role, peer }) {
      lane.process(role).store.disconnect(ABSENCE_MS)
      // A request to the provider has left by then. A message to the store is lost.
      return peer === 'provider' ? PASS : { do: 'end' }
    },
  },
]

/** After the first statement of an intent, which reserves the key. `commit` leaves with the last ones. */
function isWithinIntent({ role, name, message, label }: Point): boolean {
  const isAnswer = role === 'api' && message === 'ReadyForQuery' && !isRepeated(label)
  return isAnswer && name === 'reserve'
}

async function missUnlessWaiting({ lane, reportMissed }: FaultContext): Promise<[]> {
  if (!(await untilWaiting(lane, 1))) reportMissed()
  return []
}

function standStill(process: ServiceProcess, ms: number): void {
  process.signal('SIGSTOP')
  setTimeout(() => process.signal('SIGCONT'), ms).unref()
}

const POLL_MS = 5

/** A call of an operation. A lookup may belong to an event, before there is an operation. */
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
