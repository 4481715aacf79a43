// POST /provider/webhooks and /provider/webhooks/braintree: receive the events of Stripe and Braintree.
// They only verify the signature, which is the authentication, and store the event; a worker applies it
// later.
import { open } from '../server/route.ts'
import { z } from 'zod'
import type { ProblemType } from '../../domain/problems/problems.ts'
import { anyMembers } from '../contracts/fields.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { storeProviderEvent } from '../../db/events/provider-events.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showJson } from '../responses/answer.ts'
import { headerLines, withinStoreTimeout, type OpenEndpoint } from '../endpoint.ts'
import { readBody, type ContentType } from '../requests/read-body.ts'

const received = {
  description: 'The event is stored, or was stored before.',
  schema: z.object({ received: z.literal(true) }).meta({ id: 'Received' }),
}

const eventProblems = [
  'webhook-signature-invalid',
  'webhook-malformed',
  'route-not-found',
  'body-too-large',
  'unsupported-content-type',
  'unsupported-content-encoding',
  'store-unavailable',
] as const satisfies readonly ProblemType[]

/** An event contains a whole object of the provider with its lists; 64 KiB would not be enough. */
export const EVENT_MAX_BYTES = 1024 * 1024

/**
 * Answers 200 once the event is stored, also when it was stored before. With any other answer the
 * provider sends the event again.
 *
 * @see https://docs.stripe.com/webhooks#best-practices
 */
const receiveStripeEvent = receiveEvent({
  provider: 'stripe',
  setting: 'STRIPE_WEBHOOK_SECRET',
  contentType: 'json',
  signatureHeader: 'stripe-signature',
})

/**
 * As of Stripe. The body is a form with the payload and its signature.
 *
 * @see https://developer.paypal.com/braintree/docs/guides/webhooks/parse/node
 */
const receiveBraintreeEvent = receiveEvent({
  provider: 'braintree',
  setting: 'BRAINTREE_MERCHANT_ID',
  contentType: 'form',
})

interface Received {
  readonly provider: string
  /** The setting without which there are no events. */
  readonly setting: string
  readonly contentType: ContentType
  /** Undefined if the signature is in the body. */
  readonly signatureHeader?: string
}

function receiveEvent(from: Received): OpenEndpoint {
  const { provider, setting, contentType, signatureHeader } = from
  return async (parts, request) => {
    const read = parts.eventReaders.get(provider)
    if (read === undefined) {
      throw new ProblemError('route-not-found', { detail: `${setting} is not set.` })
    }
    const body = await readBody(parts, request, { maxBytes: EVENT_MAX_BYTES, contentType })
    const signatures = signatureHeader === undefined ? [] : headerLines(request, signatureHeader)
    const event = await read(body, signatures.length === 1 ? signatures[0] : undefined)
    const isNew = await withinStoreTimeout(parts, storeProviderEvent(parts.store.sql, event))
    if (isNew) parts.wakeEventWorkers()
    const { id, type } = event
    parts.log.info({ provider, event: id, type, repeated: !isNew }, 'provider event stored')
    return showJson({ received: true })
  }
}

export const providerEventEndpoints: Endpoints = {
  'POST /provider/webhooks': {
    serve: open(receiveStripeEvent),
    operationId: 'receiveProviderEvent',
    tag: 'Provider',
    summary: 'Receive an event of Stripe',
    description:
      'Receives a webhook of Stripe. The signature authenticates the sender. The event is stored and acknowledged first, and applied afterwards. The endpoint exists only when the service is configured with the secret of the webhook.',
    headers: z.object({
      'Stripe-Signature': z.string().meta({
        description:
          'The time and the signature of the event; see https://docs.stripe.com/webhooks#verify-manually.',
      }),
    }),
    body: { schema: anyMembers, example: { id: 'evt_1', object: 'event' } },
    answers: { 200: received },
    problems: [...eventProblems, 'webhook-too-old', 'malformed-json'],
  },
  'POST /provider/webhooks/braintree': {
    serve: open(receiveBraintreeEvent),
    operationId: 'receiveBraintreeEvent',
    tag: 'Provider',
    summary: 'Receive an event of Braintree',
    description:
      'Receives a webhook of Braintree. The signature in the form authenticates the sender. The event is stored and acknowledged first, and applied afterwards. The endpoint exists only when the service has the keys of Braintree.',
    body: {
      contentType: 'application/x-www-form-urlencoded',
      schema: z.object({
        bt_signature: z.string().meta({ description: 'The signature of the payload.' }),
        bt_payload: z.string().meta({ description: 'The event.' }),
      }),
      example: { bt_signature: 'public_key|signature', bt_payload: 'PG5vdGlm...' },
    },
    answers: { 200: received },
    problems: [...eventProblems, 'webhook-too-old'],
  },
}
