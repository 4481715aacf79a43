// Waits for the end of a run: both processes work, every key is terminal or waits for a person, and
// no job is left. If that takes too long, invariant 7 is broken and the suite goes on.
import { setTimeout as wait } from 'node:timers/promises'
import { countJobs, redeliverJobs, makeEventsDue } from './lane-jobs.ts'
import type { Lane, LaneTenant } from './lane.ts'
import type { Violation } from './results.ts'
import { RECOVERY_LIMIT_MS, RECOVERY_LIMIT_SECONDS } from './bounds.ts'
import { poll } from './poll.ts'

const POLL_MS = 10
/** Each look takes four statements. */
const STATE_POLL_MS = 40

/** Descriptions of what is not over. */
type Descriptions = readonly string[]

/** Finds keys that are neither terminal nor unknown with an open finding. */
export async function readOpenKeys(
  { owner: { sql } }: Lane,
  { id }: LaneTenant,
): Promise<Descriptions> {
  const rows = await sql<{ operation: string; status: string; reached: string }[]>`
    select operation, status, recovery_point as reached from idempotency_keys as key
    where tenant_id = ${id} and status in ('pending', 'processing', 'unknown') and not (
      status = 'unknown' and exists (
        select from reconciliation_findings
        where operation_id = key.id and tenant_id = key.tenant_id and status = 'open'
      )
    )
  `
  return rows.map(({ operation, status, reached }) => `${operation} is ${status} at ${reached}`)
}

/**
 * Waits until the run is over. Work after the answer belongs to the run as well: a fault may be
 * injected there, and the next run must start without leftovers.
 *
 * @param quietMs how long no point must have been reached; called each time.
 */
export async function untilRunOver(
  lane: Lane,
  tenant: LaneTenant,
  quietMs: () => number,
): Promise<readonly Violation[]> {
  const endsAt = performance.now() + RECOVERY_LIMIT_MS
  let open: Descriptions = ['a process']
  while (performance.now() < endsAt) {
    if (!lane.isWhole || lane.watch.quietMs <= quietMs()) {
      await wait(POLL_MS)
    } else {
      // While the store is away nothing is known.
      open = await findOpen(lane, tenant).catch((error: unknown) => [String(error)])
      if (open.length === 0) return []
      await wait(STATE_POLL_MS)
    }
  }
  return [tooLong(open.join(', '))]
}

/** Makes the remaining jobs due at once. */
async function findOpen(lane: Lane, tenant: LaneTenant): Promise<Descriptions> {
  const jobs = await countJobs(lane)
  if (jobs > 0) await Promise.all([redeliverJobs(lane), makeEventsDue(lane)])
  const keys = await readOpenKeys(lane, tenant)
  return jobs > 0 ? [...keys, `${jobs} jobs`] : keys
}

/** @throws Error when an earlier run left jobs that do not complete. */
export async function untilNoJobs(lane: Lane): Promise<void> {
  const areDone = async () => (await countJobs(lane)) === 0
  if (await poll(RECOVERY_LIMIT_MS, areDone, { pauseMs: POLL_MS })) return
  throw new Error('jobs of an earlier run are still open')
}

/** @param what describes the work, for example `the shutdown of a process`. */
export async function within(work: Promise<unknown>, what: string): Promise<readonly Violation[]> {
  const over = new AbortController()
  const late = wait(RECOVERY_LIMIT_MS, [tooLong(what)], { signal: over.signal })
  late.catch(() => {})
  try {
    return await Promise.race([work.then((): readonly Violation[] => []), late])
  } finally {
    over.abort()
  }
}

function tooLong(what: string): Violation {
  return { invariant: 7, what: `still open after ${RECOVERY_LIMIT_SECONDS} s: ${what}` }
}
