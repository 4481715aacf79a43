// Runs the operation that a job names, and tells pg-boss what to do with the job: complete it,
// retry it with backoff, or move it to the dead letters.
import type { JobResult } from 'pg-boss'
import { z } from 'zod'
import { readOperationState } from '../src/db/operations/operation-rows.ts'
import { mayBecomeVisible, type OperationJob } from '../src/db/queue/jobs.ts'
import type { FetchedJob } from '../src/db/queue/fair-fetch.ts'
import { LeaseLostError } from '../src/engine/lease.ts'
import { runOperation } from '../src/engine/run-phases.ts'
import { continueTrace } from '../src/tracing/spans.ts'
import type { WorkerParts } from './worker-parts.ts'

const jobData: z.ZodType<OperationJob> = z.object({
  tenantId: z.uuid(),
  operationId: z.uuid(),
  // A malformed trace must not stop the operation.
  traceparent: z.string().optional().catch(undefined),
})

export async function workOnOperation(
  { engine }: WorkerParts,
  job: Pick<FetchedJob, 'id' | 'data' | 'retryCount'>,
): Promise<JobResult> {
  const { id } = job
  const parsed = jobData.safeParse(job.data)
  if (!parsed.success) return { id, status: 'deadletter', output: { reason: 'malformed job' } }
  const { tenantId, operationId, traceparent } = parsed.data
  try {
    const result = await continueTrace(traceparent, () =>
      runOperation(engine, { tenantId, id: operationId }),
    )
    switch (result) {
      case 'finished':
      case 'nothing_to_do':
      // The next worker has its own job.
      case 'handed_over':
        return { id, status: 'completed' }
      case 'gave_up':
        return { id, status: 'deadletter', output: await explainGivingUp(engine, parsed.data) }
      case 'absent':
        if (!mayBecomeVisible(job)) return { id, status: 'completed' }
        return { id, status: 'failed', output: { reason: result } }
      case 'retry':
      case 'leased':
        return { id, status: 'failed', output: { reason: result } }
    }
  } catch (error) {
    const log = { err: error, operation: operationId }
    if (error instanceof LeaseLostError) {
      engine.observe.lostLease()
      engine.log.warn(log, 'another owner took over')
    } else {
      engine.log.error(log, 'a run failed; its lease will expire')
    }
    return { id, status: 'failed', output: { reason: error instanceof Error ? error.message : '' } }
  }
}

/** The text of the dead letter for operators: the operation's last error, if it can be read. */
async function explainGivingUp(
  { store }: WorkerParts['engine'],
  { tenantId, operationId }: OperationJob,
): Promise<object> {
  const reason = 'out of tries'
  try {
    const state = await readOperationState(store.sql, { tenantId, id: operationId })
    return { reason, last_error: state?.lastError ?? null }
  } catch {
    // The store is unavailable. The row has the error, too; it matters more that the job is a dead
    // letter.
    return { reason }
  }
}
