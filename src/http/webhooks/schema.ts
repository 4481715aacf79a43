// Webhook endpoints and deliveries as the API shows them, described for openapi.yaml.
import { z } from 'zod'
import { attemptErrors, deliveryStatuses } from '../../domain/webhooks/webhook-delivery.ts'
import { disabledReasons, wantedEventTypes } from '../../domain/webhooks/webhook-endpoint.ts'
import { EXAMPLE_TIME, exampleId, idField, timeField } from '../contracts/fields.ts'

const exampleEndpoint = {
  id: exampleId('we'),
  object: 'webhook_endpoint',
  url: 'https://merchant.example/webhooks',
  description: null,
  event_types: ['*'],
  status: 'enabled',
  disabled_reason: null,
  created_at: EXAMPLE_TIME,
}

const endpointShape = z.object({
  id: idField('we', 'Names the webhook endpoint.'),
  object: z.literal('webhook_endpoint'),
  url: z.string(),
  description: z.string().nullable(),
  event_types: z.array(z.enum(wantedEventTypes)),
  status: z.enum(['enabled', 'disabled']),
  disabled_reason: z.enum(disabledReasons).nullable().meta({
    description: '`gone`: it answered 410. `failing`: every attempt has failed for long.',
  }),
  created_at: timeField('When it was made.'),
})

export const webhookEndpointSchema = endpointShape.meta({
  id: 'WebhookEndpoint',
  examples: [exampleEndpoint],
})

export const webhookEndpointWithSecretSchema = endpointShape
  .extend({
    secret: z
      .string()
      .regex(/^whsec_/)
      .meta({
        description:
          'Signs what is sent to the endpoint (Standard Webhooks). Shown here and nowhere else.',
      }),
  })
  .meta({
    id: 'WebhookEndpointWithSecret',
    examples: [{ ...exampleEndpoint, secret: 'whsec_c2VjcmV0LW9mLXRoZS1lbmRwb2ludC0tLS0tLS0=' }],
  })

export const deletedWebhookEndpointSchema = z
  .object({
    id: idField('we', 'Named the webhook endpoint.'),
    object: z.literal('webhook_endpoint'),
    deleted: z.literal(true),
  })
  .meta({ id: 'DeletedWebhookEndpoint' })

export const webhookDeliverySchema = z
  .object({
    id: idField('wd', 'Names the delivery.'),
    object: z.literal('webhook_delivery'),
    event: idField('evt', 'The event that is delivered.'),
    event_type: z.string().meta({ examples: ['payment.succeeded'] }),
    endpoint: idField('we', 'The endpoint to which it is delivered.'),
    status: z.enum(deliveryStatuses),
    next_attempt_at: timeField('When it is tried next; null when it is not.').nullable(),
    attempts: z.array(
      z.object({
        number: z.int(),
        started_at: timeField('When the attempt began.'),
        latency_ms: z.number(),
        http_status: z.int().nullable(),
        error: z.enum(attemptErrors).nullable(),
      }),
    ),
    created_at: timeField('When the event happened.'),
  })
  .meta({
    id: 'WebhookDelivery',
    examples: [
      {
        id: exampleId('wd'),
        object: 'webhook_delivery',
        event: exampleId('evt'),
        event_type: 'payment.succeeded',
        endpoint: exampleId('we'),
        status: 'succeeded',
        next_attempt_at: null,
        attempts: [
          { number: 1, started_at: EXAMPLE_TIME, latency_ms: 84, http_status: 204, error: null },
        ],
        created_at: EXAMPLE_TIME,
      },
    ],
  })
