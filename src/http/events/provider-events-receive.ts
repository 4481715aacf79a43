// POST /provider/webhooks: receives the provider's events. It only verifies the signature, which is
// the authentication, and stores the event; a worker applies it later.
import { storeProviderEvent } from '../../db/events/provider-events.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showJson } from '../responses/answer.ts'
import { headerLines, withinStoreTimeout, type OpenEndpoint } from '../endpoint.ts'
import { readBody } from '../requests/read-body.ts'

/** An event contains a whole object of the provider with its lists; 64 KiB would not be enough. */
export const EVENT_MAX_BYTES = 1024 * 1024

/**
 * Answers 200 once the event is stored, also when it was stored before. With any other answer the
 * provider sends the event again.
 *
 * @see https://docs.stripe.com/webhooks#best-practices
 */
export const receiveProviderEvent: OpenEndpoint = async (parts, request) => {
  if (parts.readProviderEvent === undefined) {
    throw new ProblemError('route-not-found', { detail: 'STRIPE_WEBHOOK_SECRET is not set.' })
  }
  const body = await readBody(parts, request, EVENT_MAX_BYTES)
  const [signature, ...others] = headerLines(request, 'stripe-signature')
  const event = await parts.readProviderEvent(body, others.length === 0 ? signature : undefined)
  const isNew = await withinStoreTimeout(parts, storeProviderEvent(parts.store.sql, event))
  if (isNew) parts.wakeEventWorkers()
  parts.log.info({ event: event.id, type: event.type, repeated: !isNew }, 'provider event stored')
  return showJson({ received: true })
}
