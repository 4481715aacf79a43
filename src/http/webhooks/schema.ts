// Describes the JSON of webhook endpoints and deliveries for openapi.yaml.
import { z } from 'zod'
import { attemptErrors, deliveryStatuses } from '../../domain/webhooks/webhook-delivery.ts'
import { disabledReasons } from '../../domain/webhooks/webhook-endpoint.ts'
import { EXAMPLE_TIME, exampleId, idField, timeField } from '../contracts/fields.ts'
import { wantedEventType } from './webhook-endpoint-fields.ts'
import { idempotencyField } from '../contracts/idempotency-field.ts'

export const exampleEndpoint = {
  id: exampleId('we'),
  object: 'webhook_endpoint',
  url: 'https://merchant.example/webhooks',
  description: null,
  event_types: ['payment.succeeded'],
  status: 'enabled',
  disabled_reason: null,
  paused_until: null,
  created_at: EXAMPLE_TIME,
}

const endpointShape = z.object({
  id: idField('we', 'The id of the webhook endpoint.'),
  object: z.literal('webhook_endpoint'),
  url: z.string().meta({ description: 'The URL that events are sent to.' }),
  description: z.string().nullable().meta({ description: 'Free text, for people.' }),
  event_types: z
    .array(wantedEventType)
    .meta({ description: 'The types of events that are sent. `*` stands for every type.' }),
  status: z
    .enum(['enabled', 'disabled'])
    .meta({ description: 'The status of the endpoint. No events are sent to a disabled one.' }),
  disabled_reason: z.enum(disabledReasons).nullable().meta({
    description:
      'Why the endpoint is disabled. `gone`: the endpoint answered with status 410. `failing`: every attempt has failed for a long time. `requested`: you disabled it.',
  }),
  paused_until: timeField(
    'Until when the service leaves the endpoint alone after repeated failures. Its deliveries wait, and use up no attempts. Null when attempts are made.',
  ).nullable(),
  created_at: timeField('When the webhook endpoint was created.'),
  idempotency: idempotencyField,
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
          'The secret that signs the webhooks to this endpoint, in the format of Standard Webhooks. It is returned only in this response.',
      }),
  })
  .meta({
    id: 'WebhookEndpointWithSecret',
    examples: [{ ...exampleEndpoint, secret: 'whsec_c2VjcmV0LW9mLXRoZS1lbmRwb2ludC0tLS0tLS0=' }],
  })

export const deletedWebhookEndpointSchema = z
  .object({
    id: idField('we', 'The id of the deleted webhook endpoint.'),
    object: z.literal('webhook_endpoint'),
    deleted: z.literal(true),
    idempotency: idempotencyField,
  })
  .meta({ id: 'DeletedWebhookEndpoint' })

export const webhookReplaySchema = z
  .object({
    object: z.literal('webhook_replay'),
    endpoint: idField('we', 'The webhook endpoint.'),
    since: timeField('The time of the request.'),
    deliveries: z.int().meta({ description: 'How many deliveries are pending again.' }),
    has_more: z.boolean().meta({
      description:
        'Whether there may be more failed deliveries. Send another request, with a new idempotency key.',
    }),
    idempotency: idempotencyField,
  })
  .meta({
    id: 'WebhookReplay',
    examples: [
      {
        object: 'webhook_replay',
        endpoint: exampleId('we'),
        since: EXAMPLE_TIME,
        deliveries: 42,
        has_more: false,
      },
    ],
  })

const exampleDelivery = {
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
}

/** A delivery whose next attempt is due. */
export const pendingDelivery = {
  ...exampleDelivery,
  status: 'pending',
  next_attempt_at: EXAMPLE_TIME,
}

export const webhookDeliverySchema = z
  .object({
    id: idField('wd', 'The id of the delivery.'),
    object: z.literal('webhook_delivery'),
    event: idField('evt', 'The event that is delivered.'),
    event_type: z.string().meta({ description: 'The type of the event.' }),
    endpoint: idField('we', 'The webhook endpoint that the event is sent to.'),
    status: z.enum(deliveryStatuses).meta({
      description:
        'The status of the delivery. `pending`: another attempt will follow. `succeeded`: the endpoint received the event. `failed`: no more attempts are made.',
    }),
    next_attempt_at: timeField(
      'When the next attempt is made. Null when no attempt will follow.',
    ).nullable(),
    attempts: z
      .array(
        z.object({
          number: z.int().meta({ description: 'The number of the attempt.' }),
          started_at: timeField('When the attempt began.'),
          latency_ms: z
            .number()
            .meta({ description: 'The duration of the attempt, in milliseconds.' }),
          http_status: z
            .int()
            .nullable()
            .meta({ description: 'The HTTP status that the endpoint answered with.' }),
          error: z
            .enum(attemptErrors)
            .nullable()
            .meta({ description: 'Why there was no answer. Null when there was one.' }),
        }),
      )
      .meta({ description: 'The last 30 attempts, oldest first.' }),
    created_at: timeField('When the event happened.'),
    idempotency: idempotencyField,
  })
  .meta({
    id: 'WebhookDelivery',
    examples: [exampleDelivery],
  })
