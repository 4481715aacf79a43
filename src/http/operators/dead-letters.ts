// The endpoints below /admin/dead-letters: jobs that are out of retries.
import { z } from 'zod'
import { appendAdminAction } from '../../db/operators/admin-actions.ts'
import { StaleResourceError } from '../../db/payments/payments.ts'
import { inService } from '../../db/connection/transaction.ts'
import { showId } from '../../domain/resource-id.ts'
import {
  deadLetterQueues,
  KeptDeadLetterError,
  listDeadLetters,
  redrive,
  takeDeadLetter,
  type DeadLetter,
  type DeadLetterQueue,
} from '../../recovery/dead-letters.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { anyMembers, shownCount, shownText, timeField, render } from '../contracts/fields.ts'
import { byName } from '../contracts/parameters.ts'
import { withinStoreTimeout, type AdminEndpoint, type ServiceParts, admin } from '../endpoint.ts'
import { showJson } from '../responses/answer.ts'
import { readList } from '../contracts/reads.ts'
import { auditRefusal, readCommandBody, type Attempt } from './commands.ts'

const deadLetterSchema = z
  .object({
    id: z.uuid().meta({ description: 'The id of the job, as the queue dashboard shows it.' }),
    object: z.literal('dead_letter'),
    queue: z.enum(deadLetterQueues).meta({ description: 'The queue of dead letters.' }),
    source_queue: shownText('The queue in which the job used up its retries.').nullable(),
    about: shownText('The id of the resource that the job works on.').nullable(),
    job: anyMembers.meta({ description: 'The parameters of the job.' }),
    retries: shownCount('How many times the job was retried.').nullable(),
    last_error: z.unknown().meta({ description: 'The error of the last attempt.' }),
    died_at: timeField('When the job used up its retries.'),
  })
  .meta({ id: 'DeadLetter' })

const redriveSchema = z
  .object({
    object: z.literal('redrive'),
    queue: z.enum(deadLetterQueues).meta({ description: 'The queue of dead letters.' }),
    redriven: shownCount('The number of jobs that are retried.'),
    needless: shownCount(
      'The number of dead letters that were removed because there was nothing left to do.',
    ),
    kept: z
      .array(
        z.object({
          id: shownText('The id of the dead letter.'),
          reason: shownText('Why it was kept.'),
        }),
      )
      .meta({ description: 'The dead letters that could not be redriven.' }),
  })
  .meta({ id: 'Redrive' })

const uuid = z.uuid()

const deadLetter = {
  schema: deadLetterSchema,
  // Job ids are those of pg-boss, which its dashboard shows as well.
  parse: (text: string) => uuid.safeParse(text).data,
  present: (letter: DeadLetter) =>
    render(deadLetterSchema, { ...letter, about: subjectOf(letter) }),
}

/** Returns the public id of the resource that the job works on. */
function subjectOf({ job }: DeadLetter): string | null {
  const { operationId, deliveryId, runId, eventId } = job
  if (uuid.safeParse(operationId).success) return showId('op', String(operationId))
  if (uuid.safeParse(deliveryId).success) return showId('wd', String(deliveryId))
  if (uuid.safeParse(runId).success) return showId('rec', String(runId))
  return typeof eventId === 'string' ? eventId : null
}

/** The maximum number of dead letters per request. Each one is redriven in its own transaction. */
const REDRIVE_MAX = 100

const redriveDeadLettersBody = z.strictObject({
  queue: z.enum(deadLetterQueues).describe('The queue of dead letters.'),
  ids: z
    .array(z.uuid())
    .min(1)
    .max(REDRIVE_MAX)
    .refine((ids) => new Set(ids).size === ids.length, { error: 'An id is repeated' })
    .optional()
    .describe(`The ids of the dead letters to redrive. Defaults to the ${REDRIVE_MAX} oldest.`),
})

const ACTION = 'dead_letter.redrive'

/**
 * The result for one dead letter. `redriven`: its work continues. `needless`: nothing was left to do, and it
 * is deleted, too. `reason` says why it was kept.
 */
type RedriveOutcome = 'redriven' | 'needless' | { readonly reason: string }

const redriveDeadLetters: AdminEndpoint = async (parts, request, operator) => {
  const attempt = { actor: operator, action: ACTION, subject: null }
  const { queue, ids } = await auditRefusal(parts, attempt, () =>
    readCommandBody(parts, request, redriveDeadLettersBody),
  )
  const chosen = ids ?? (await findOldest(parts, queue))
  const counts = { redriven: 0, needless: 0 }
  const kept: { id: string; reason: string }[] = []
  for (const id of chosen) {
    const result = await redriveOne(parts, operator, queue, id)
    if (typeof result === 'string') counts[result] += 1
    else kept.push({ id, reason: result.reason })
  }
  // A request that matches no dead letter is recorded in the audit trail, too.
  if (chosen.length === 0) await append(parts, { ...attempt, details: { queue, result: 'none' } })
  parts.wake.workers()
  parts.wake.eventWorkers()
  return showJson({ object: 'redrive', queue, ...counts, kept })
}

async function findOldest(parts: ServiceParts, queue: DeadLetterQueue): Promise<string[]> {
  const listing = listDeadLetters(parts.store.sql, queue, { limit: REDRIVE_MAX, oldest: true })
  const { items = [] } = (await withinStoreTimeout(parts, listing)) ?? {}
  return items.map(({ id }) => id).toReversed()
}

async function redriveOne(
  parts: ServiceParts,
  operator: string,
  queue: DeadLetterQueue,
  id: string,
): Promise<RedriveOutcome> {
  const attempt = { actor: operator, action: ACTION }
  const details = { queue, dead_letter: id }
  let subject = id
  try {
    const redriving = inService(parts.store.sql, async (tx) => {
      const letter = await takeDeadLetter(tx, queue, id)
      subject = subjectOf(letter) ?? id
      const result = (await redrive(tx, parts, letter)) ? 'redriven' : 'needless'
      await appendAdminAction(tx, { ...attempt, subject, details: { ...details, result } })
      return result
    })
    return await withinStoreTimeout(parts, redriving)
  } catch (error) {
    const reason = reasonToKeep(error)
    await append(parts, { ...attempt, subject, details: { ...details, result: 'kept', reason } })
    return { reason }
  }
}

function reasonToKeep(error: unknown): string {
  if (error instanceof KeptDeadLetterError) return error.message
  if (error instanceof StaleResourceError)
    return 'the payment has changed since the operation stopped'
  throw error
}

async function append(
  parts: ServiceParts,
  action: Attempt & { details: Record<string, unknown> },
): Promise<void> {
  await withinStoreTimeout(parts, appendAdminAction(parts.store.sql, action))
}

export const deadLetterEndpoints: Endpoints = {
  'GET /admin/dead-letters': readList({
    operationId: 'listDeadLetters',
    summary: 'List dead letters',
    description: 'Returns the jobs that used up their retries, newest first.',
    of: deadLetter,
    filters: {
      queue: byName(
        deadLetterQueues,
        deadLetterQueues.join(', '),
        'Only return the dead letters of this queue.',
      ),
    },
    read: ({ store }, page, { queue }) => listDeadLetters(store.sql, queue, page),
    answer: 'A page of dead letters.',
  }),
  'POST /admin/dead-letters/redrive': {
    serve: admin(redriveDeadLetters),
    operationId: 'redriveDeadLetters',
    tag: 'Operators',
    summary: 'Redrive dead letters',
    description:
      'Retries jobs that used up their retries. Each dead letter is handled in its own transaction, so some may be redriven while others are kept. A payment or refund that has failed is made now, although its client was told that it failed.',
    body: {
      schema: redriveDeadLettersBody.meta({ id: 'RedriveDeadLetters' }),
      example: { queue: deadLetterQueues[0] },
    },
    answers: { 200: { description: 'The result for the dead letters.', schema: redriveSchema } },
  },
}
