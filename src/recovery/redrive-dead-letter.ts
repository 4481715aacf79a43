// Redrives dead letters. A new job alone would find nothing to do, because the work of the job was
// given up as well. So each queue has its own way to restart the work.
import type { Transaction } from '../db/connection/client.ts'
import {
  requeueProviderEventUnlessApplied,
  requeueRunUnlessCompleted,
  takeDeadLetterIfThere,
  type DeadLetter,
  type DeadLetterQueue,
} from '../db/queue/dead-letters.ts'
import {
  OPERATIONS_DEAD_LETTERS,
  PROVIDER_EVENTS_DEAD_LETTERS,
  PROVIDER_EVENTS_QUEUE,
  RECONCILIATIONS_DEAD_LETTERS,
  REMINDERS_QUEUE,
  WEBHOOKS_DEAD_LETTERS,
} from '../db/queue/jobs.ts'
import { findDelivery, redeliverIfEnabled } from '../db/webhooks/webhook-deliveries.ts'
import type { Engine } from '../engine/engine.ts'
import { resumeOperation } from './resume-operation.ts'

/**
 * `redriven`: the work continues. `needless`: nothing was left to do; the dead letter is deleted,
 * too.
 */
export type RedriveResult = 'redriven' | 'needless'

/** A dead letter cannot be redriven and stays in its queue. */
export class KeptDeadLetterError extends Error {
  override name = 'KeptDeadLetterError'
}

/**
 * Removes a dead letter from its queue.
 *
 * @throws KeptDeadLetterError when there is none.
 */
export async function takeDeadLetter(
  tx: Transaction,
  queue: DeadLetterQueue,
  id: string,
): Promise<DeadLetter> {
  const letter = await takeDeadLetterIfThere(tx, queue, id)
  if (letter === undefined) throw new KeptDeadLetterError('there is no such dead letter')
  return letter
}

/**
 * Restarts the work of a dead letter that was taken from its queue.
 *
 * @throws KeptDeadLetterError, or StaleResourceError when it is too late for the operation. The
 *   caller's transaction must fail with it, so that the dead letter stays.
 */
export async function redrive(
  tx: Transaction,
  parts: Pick<Engine, 'operations'>,
  letter: DeadLetter,
): Promise<RedriveResult> {
  return (await redrivers[letter.queue](tx, letter, parts)) ? 'redriven' : 'needless'
}

/** Each function returns whether there was something to do. */
const redrivers: Record<
  DeadLetterQueue,
  (tx: Transaction, letter: DeadLetter, parts: Pick<Engine, 'operations'>) => Promise<boolean>
> = {
  [OPERATIONS_DEAD_LETTERS]: redriveOperation,
  [PROVIDER_EVENTS_DEAD_LETTERS]: redriveProviderEvent,
  [WEBHOOKS_DEAD_LETTERS]: redriveWebhook,
  [RECONCILIATIONS_DEAD_LETTERS]: redriveReconciliation,
}

async function redriveOperation(
  tx: Transaction,
  { job }: DeadLetter,
  parts: Pick<Engine, 'operations'>,
): Promise<boolean> {
  const ref = { tenantId: uuidIn(job, 'tenantId'), id: uuidIn(job, 'operationId') }
  return (await resumeOperation(tx, parts, ref)) !== 'nothing'
}

async function redriveProviderEvent(
  tx: Transaction,
  { job, sourceQueue }: DeadLetter,
): Promise<boolean> {
  const ref = { provider: textIn(job, 'provider'), id: textIn(job, 'eventId') }
  const queue = sourceQueue === REMINDERS_QUEUE ? REMINDERS_QUEUE : PROVIDER_EVENTS_QUEUE
  return await requeueProviderEventUnlessApplied(tx, ref, queue)
}

async function redriveWebhook(tx: Transaction, { job }: DeadLetter): Promise<boolean> {
  const ref = { tenantId: uuidIn(job, 'tenantId'), id: uuidIn(job, 'deliveryId') }
  const delivery = await findDelivery(tx, ref.tenantId, ref.id)
  if (delivery === undefined || delivery.status === 'succeeded') return false
  if (!(await redeliverIfEnabled(tx, ref))) {
    throw new KeptDeadLetterError('the webhook endpoint is disabled')
  }
  return true
}

async function redriveReconciliation(tx: Transaction, { job }: DeadLetter): Promise<boolean> {
  return await requeueRunUnlessCompleted(tx, uuidIn(job, 'runId'))
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function uuidIn(job: DeadLetter['job'], name: string): string {
  const text = textIn(job, name)
  if (UUID.test(text)) return text
  throw new KeptDeadLetterError('the job is malformed')
}

function textIn(job: DeadLetter['job'], name: string): string {
  const value = job[name]
  if (typeof value === 'string') return value
  throw new KeptDeadLetterError('the job is malformed')
}
