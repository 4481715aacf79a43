// Describes webhooks for OpenAPI: the request for each type of event, and the responses of a
// receiver.
import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { eventTypes } from '../domain/events/event-types.ts'
import { RETRY_DELAYS_SECONDS } from '../domain/webhooks/webhook-delivery.ts'
import {
  disputeEventSchema,
  endpointEventSchema,
  exampleEvent,
  paymentEventSchema,
  refundEventSchema,
} from '../http/events/schema.ts'
import { EXAMPLE_TIME, exampleId } from '../http/contracts/fields.ts'
import { pascalCase } from '../http/contracts/problem-schema.ts'

const headers = z.object({
  'webhook-id': z.string().meta({
    param: { id: 'WebhookId' },
    description:
      'The id of the event. It is the same for every attempt; use it to ignore repeated deliveries.',
    examples: [exampleId('evt')],
  }),
  'webhook-timestamp': z
    .string()
    .regex(/^\d+$/)
    .meta({
      param: { id: 'WebhookTimestamp' },
      description:
        'When this attempt was signed, in Unix seconds. Refuse webhooks that were signed more than five minutes ago.',
      examples: [String(Date.parse(EXAMPLE_TIME) / 1_000)],
    }),
  'webhook-signature': z.string().meta({
    param: { id: 'WebhookSignature' },
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
  return Object.fromEntries(eventTypes.map((type) => [type, { post: describeWebhook(type) }]))
}

const schemas = {
  payment: paymentEventSchema,
  refund: refundEventSchema,
  dispute: disputeEventSchema,
  webhook_endpoint: endpointEventSchema,
}

function describeWebhook(type: string) {
  const [resource = ''] = type.split('.')
  return {
    operationId: `on${pascalCase(type.replaceAll(/[._]/g, '-'))}`,
    tags: ['Webhooks'],
    summary: type,
    description: `Sent when the event \`${type}\` happens to a ${resource.replace('_', ' ')}.`,
    security: [],
    requestParams: { header: headers },
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: schemas[resource as keyof typeof schemas],
          example: exampleEvent(type),
        },
      },
    },
    responses,
  }
}
