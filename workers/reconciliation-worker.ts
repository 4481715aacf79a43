// Carries out the comparison that a job names. One that fails is begun anew with backoff; what it had
// found until then stays found.
import type { JobResult, JobWithMetadata } from 'pg-boss'
import { z } from 'zod'
import type { ReconciliationJob } from '../src/db/queue/queues.ts'
import {
  BY_SCHEDULE,
  hasScheduledRun,
  requestReconciliation,
} from '../src/db/reconciliation/reconciliation-runs.ts'
import type { Engine } from '../src/engine/engine.ts'
import { carryOutRun } from '../src/reconciliation/carry-out-run.ts'
import { yesterday } from '../src/reconciliation/window.ts'
import type { WorkerParts } from './jobs.ts'

const jobData: z.ZodType<ReconciliationJob> = z.object({ runId: z.uuid() })

export async function workOnReconciliation(
  { engine, stopping }: WorkerParts,
  job: JobWithMetadata<unknown>,
): Promise<JobResult> {
  const { id } = job
  const parsed = jobData.safeParse(job.data)
  if (!parsed.success) return { id, status: 'deadletter', output: { reason: 'malformed job' } }
  const { runId } = parsed.data
  try {
    const ends = stopping === undefined ? [job.signal] : [job.signal, stopping]
    const counts = await carryOutRun(engine, runId, { signal: AbortSignal.any(ends) })
    if (counts !== undefined)
      engine.log.info({ run: runId, ...counts }, 'compared with the provider')
    return { id, status: 'completed' }
  } catch (error) {
    engine.log.error({ err: error, run: runId }, 'a comparison failed; it is begun anew')
    return { id, status: 'failed', output: { reason: error instanceof Error ? error.message : '' } }
  }
}

/**
 * Has the last day compared, unless the schedule has seen to that. Asked every hour, so that a day is
 * not left out when no worker lives at the first of them.
 */
export async function requestDailyReconciliation({
  store,
  provider,
  clock,
}: Pick<Engine, 'store' | 'provider' | 'clock'>): Promise<{ requested: number }> {
  const request = { provider: provider.name, requestedBy: BY_SCHEDULE, ...yesterday(clock.now()) }
  if (await hasScheduledRun(store.sql, request)) return { requested: 0 }
  await requestReconciliation(store.sql, request)
  return { requested: 1 }
}
