// Makes the delivery attempt that a job names, and tells pg-boss what to do with the job. The next
// attempt has its own job, so a job fails only when its attempt was not recorded.
import type { JobResult } from 'pg-boss'
import { z } from 'zod'
import { mayBecomeVisible, type WebhookJob } from '../src/db/queue/jobs.ts'
import type { FetchedJob } from '../src/db/queue/fair-fetch.ts'
import { findDelivery } from '../src/db/webhooks/webhook-deliveries.ts'
import { deliverWebhook, type WebhookParts } from '../src/webhooks/deliver-webhook.ts'

const jobData: z.ZodType<WebhookJob> = z.object({
  tenantId: z.uuid(),
  deliveryId: z.uuid(),
  attempt: z.int().min(1),
})

export async function workOnWebhook(
  webhooks: WebhookParts,
  job: Pick<FetchedJob, 'id' | 'data' | 'retryCount'>,
): Promise<JobResult> {
  const { id } = job
  const parsed = jobData.safeParse(job.data)
  if (!parsed.success) return { id, status: 'deadletter', output: { reason: 'malformed job' } }
  try {
    const result = await deliverWebhook(webhooks, parsed.data)
    if (result === 'absent' && mayBecomeVisible(job)) {
      return { id, status: 'failed', output: { reason: result } }
    }
    if (result !== 'gave_up') return { id, status: 'completed' }
    return { id, status: 'deadletter', output: await explainGivingUp(webhooks, parsed.data) }
  } catch (error) {
    webhooks.log.error(
      { err: error, delivery: parsed.data.deliveryId },
      'a webhook attempt was not recorded',
    )
    return { id, status: 'failed', output: { reason: error instanceof Error ? error.message : '' } }
  }
}

/** The text of the dead letter for operators: the result of the last attempt, if it can be read. */
async function explainGivingUp(
  { store }: WebhookParts,
  { tenantId, deliveryId }: WebhookJob,
): Promise<object> {
  const reason = 'out of attempts'
  try {
    const last = (await findDelivery(store.sql, tenantId, deliveryId))?.attempts.at(-1)
    return { reason, last_error: last?.error ?? (last && `answered ${last.httpStatus}`) ?? null }
  } catch {
    // The store is unavailable. The delivery has the result, too; it matters more that the job is a
    // dead letter.
    return { reason }
  }
}
