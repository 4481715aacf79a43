// Describes webhooks for OpenAPI: the request with any event, and the responses of a
// receiver.
import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { RETRY_DELAYS_SECONDS } from '../domain/webhooks/webhook-delivery.ts'
import { anyEventSchema, exampleEvent } from '../http/resources/events.ts'
import { EXAMPLE_TIME, exampleId } from '../http/contracts/fields.ts'

const headers = z.object({
  'webhook-id': z.string().meta({
    description:
      'The id of the event. It is the same for every attempt; use it to ignore repeated deliveries.',
    examples: [exampleId('evt')],
  }),
  'webhook-timestamp': z
    .string()
    .regex(/^\d+$/)
    .meta({
      description:
        'When this attempt was signed, in Unix seconds. Refuse webhooks that were signed more than five minutes ago.',
      examples: [String(Date.parse(EXAMPLE_TIME) / 1_000)],
    }),
  'webhook-signature': z.string().meta({
    description:
      'The signatures of the webhook, separated by spaces: one HMAC-SHA-256 for each valid secret of the endpoint, as Standard Webhooks specifies. Accept the webhook if one of them matches.',
    examples: ['v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='],
  }),
})

const attempts = RETRY_DELAYS_SECONDS.length + 1

const responses = {
  '2XX': { description: 'The event was received. The body of the response is ignored.' },
  '410': {
    description: 'The endpoint is gone. The service disables it and sends no more events to it.',
  },
  default: {
    description: `Any other response, or none within 10 seconds, counts as a failure. The service makes up to ${attempts} attempts within about three days.`,
  },
}

export function describeWebhooks(): ZodOpenApiPathsObject {
  const schema = anyEventSchema
  const body = { schema, example: exampleEvent }
  return {
    event: {
      post: {
        operationId: 'onEvent',
        tags: ['Webhooks'],
        summary: 'An event',
        description: 'Sent when an event happens of a type that the endpoint has chosen.',
        security: [],
        requestParams: { header: headers },
        requestBody: { required: true, content: { 'application/json': body } },
        responses,
      },
    },
  }
}
