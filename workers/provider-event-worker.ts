// Applies the provider event that a job names. An event that cannot be applied yet is retried with
// backoff. After the last retry the job is a dead letter, and the event stays in the inbox for an
// operator.
import type { JobResult } from 'pg-boss'
import { z } from 'zod'
import type { ProviderEventJob } from '../src/db/queue/jobs.ts'
import type { FetchedJob } from '../src/db/queue/fair-fetch.ts'
import { applyProviderEvent } from '../src/operations/apply-provider-event.ts'
import type { WorkerParts } from './worker-parts.ts'

const jobData: z.ZodType<ProviderEventJob> = z.object({
  provider: z.string(),
  eventId: z.string(),
})

export async function workOnProviderEvent(
  { engine }: WorkerParts,
  job: Pick<FetchedJob, 'id' | 'data'>,
): Promise<JobResult> {
  const { id } = job
  const parsed = jobData.safeParse(job.data)
  if (!parsed.success) return { id, status: 'deadletter', output: { reason: 'malformed job' } }
  const { provider, eventId } = parsed.data
  try {
    const result = await applyProviderEvent(engine, { provider, id: eventId })
    if (result === 'pending')
      return { id, status: 'failed', output: { reason: 'not applicable yet' } }
    engine.log.info({ event: eventId, result }, 'applied a provider event')
    return { id, status: 'completed' }
  } catch (error) {
    engine.log.error({ err: error, event: eventId }, 'applying a provider event failed')
    return { id, status: 'failed', output: { reason: error instanceof Error ? error.message : '' } }
  }
}
