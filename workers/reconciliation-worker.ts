// Carries out the reconciliation run that a job names. A failed run is restarted with backoff; its
// findings so far are kept.
import type { JobResult, JobWithMetadata } from 'pg-boss'
import { z } from 'zod'
import { inService } from '../src/db/connection/transaction.ts'
import type { Engine } from '../src/engine/engine.ts'
import { carryOutRun } from '../src/reconciliation/carry-out-run.ts'
import {
  BY_SCHEDULE,
  hasScheduledRun,
  requestReconciliation,
  yesterday,
} from '../src/reconciliation/runs.ts'
import type { WorkerParts } from './worker-parts.ts'

const jobData = z.object({ runId: z.uuid() })

export async function workOnReconciliation(
  { engine, stopping }: WorkerParts,
  job: JobWithMetadata<unknown>,
): Promise<JobResult> {
  const { id } = job
  const parsed = jobData.safeParse(job.data)
  if (!parsed.success) return { id, status: 'deadletter', output: { reason: 'malformed job' } }
  const { runId } = parsed.data
  try {
    const signals = stopping === undefined ? [job.signal] : [job.signal, stopping]
    const counts = await carryOutRun(engine, runId, { signal: AbortSignal.any(signals) })
    if (counts !== undefined)
      engine.log.info({ run: runId, ...counts }, 'compared with the provider')
    return { id, status: 'completed' }
  } catch (error) {
    engine.log.error({ err: error, run: runId }, 'a reconciliation failed; it will be restarted')
    return { id, status: 'failed', output: { reason: error instanceof Error ? error.message : '' } }
  }
}

/**
 * Requests the reconciliation of the last day with each provider, unless the schedule already has. It
 * is called every hour, so that no day is left out when no worker runs at the first hour.
 */
export async function requestDailyReconciliation({
  store,
  providers,
  clock,
}: Pick<Engine, 'store' | 'providers' | 'clock'>): Promise<{ requested: number }> {
  let requested = 0
  for (const { name: provider } of providers.all) {
    const request = { provider, requestedBy: BY_SCHEDULE, ...yesterday(clock.now()) }
    if (await hasScheduledRun(store.sql, request)) continue
    await inService(store.sql, (tx) => requestReconciliation(tx, request))
    requested += 1
  }
  return { requested }
}
