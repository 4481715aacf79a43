// POST /provider/webhooks: the provider's events. Whoever can sign them may call; nothing is done here
// but to prove the signature, and to keep the event until a worker applies it.
import { storeProviderEvent } from '../../db/events/provider-events.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showJson } from '../responses/answer.ts'
import { headerLines, withinStoreTimeout, type OpenEndpoint } from '../endpoint.ts'
import { readBody } from '../requests/read-body.ts'

/** An event holds a whole object of the provider's, lists included; 64 KiB would be too little. */
const EVENT_MAX_BYTES = 1024 * 1024

/**
 * Answers 200 once the event is stored, also for one that had been stored before. Any other answer
 * makes the provider send it again.
 *
 * @see https://docs.stripe.com/webhooks#best-practices
 */
export const receiveProviderEvent: OpenEndpoint = async (parts, request) => {
  if (parts.readProviderEvent === undefined) {
    throw new ProblemError('route-not-found', { detail: 'STRIPE_WEBHOOK_SECRET is not set.' })
  }
  const body = await readBody(parts, request, EVENT_MAX_BYTES)
  const [signature, ...others] = headerLines(request, 'stripe-signature')
  const event = parts.readProviderEvent(body, others.length === 0 ? signature : undefined)
  const isNew = await withinStoreTimeout(parts, storeProviderEvent(parts.store.sql, event))
  if (isNew) parts.wakeEventWorkers()
  parts.log.info({ event: event.id, type: event.type, repeated: !isNew }, 'event of the provider')
  return showJson({ received: true })
}
