// The webhooks as OpenAPI has them: what is sent for each type of event, and what a receiver answers.
import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { eventTypes } from '../domain/events/event.ts'
import { RETRY_DELAYS_SECONDS } from '../domain/webhooks/webhook-delivery.ts'
import { exampleEvent, paymentEventSchema, refundEventSchema } from '../http/events/schema.ts'
import { EXAMPLE_TIME, exampleId } from '../http/contracts/fields.ts'
import { pascalCase } from '../http/contracts/problem-schema.ts'

const headers = z.object({
  'webhook-id': z.string().meta({
    param: { id: 'WebhookId' },
    description: 'The id of the event, the same for every attempt.',
    examples: [exampleId('evt')],
  }),
  'webhook-timestamp': z
    .string()
    .regex(/^\d+$/)
    .meta({
      param: { id: 'WebhookTimestamp' },
      description:
        'When this attempt was signed, in Unix seconds; refuse what is older than 5 minutes.',
      examples: [String(Date.parse(EXAMPLE_TIME) / 1_000)],
    }),
  'webhook-signature': z.string().meta({
    param: { id: 'WebhookSignature' },
    description:
      'HMAC-SHA-256 by the secret of the endpoint (Standard Webhooks), one for each valid secret, with a space between.',
    examples: ['v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='],
  }),
})

const attempts = RETRY_DELAYS_SECONDS.length + 1

const responses = {
  '2XX': { description: 'It was received. What the answer says is not looked at.' },
  '410': { description: 'The endpoint is to be disabled: nothing is sent to it any more.' },
  default: {
    description: `Any other answer, or none within 10 seconds, is a failure, and is tried again: ${attempts} attempts in about three days.`,
  },
}

export function describeWebhooks(): ZodOpenApiPathsObject {
  return Object.fromEntries(eventTypes.map((type) => [type, { post: describeWebhook(type) }]))
}

function describeWebhook(type: string) {
  const isPayment = type.startsWith('payment.')
  return {
    operationId: `on${pascalCase(type.replaceAll(/[._]/g, '-'))}`,
    tags: ['Webhooks'],
    summary: type,
    description: `Sent when this has happened to a ${isPayment ? 'payment' : 'refund'}.`,
    security: [],
    requestParams: { header: headers },
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: isPayment ? paymentEventSchema : refundEventSchema,
          example: exampleEvent(type),
        },
      },
    },
    responses,
  }
}
