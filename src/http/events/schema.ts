// Describes the JSON of events, in `/v1/events` and in webhooks, for openapi.yaml.
import { z } from 'zod'
import { eventTypes } from '../../domain/events/event-types.ts'
import { disputeSchema } from '../disputes/schema.ts'
import { disabledReasons } from '../../domain/webhooks/webhook-endpoint.ts'
import { EXAMPLE_KEY, EXAMPLE_TIME, exampleId, idField, timeField } from '../contracts/fields.ts'
import { examplePayment, paymentSchema, refundSchema } from '../payments/schema.ts'

type Kind = 'payment' | 'refund' | 'dispute' | 'webhook_endpoint'

const eventTypesOf = (kind: Kind): string[] =>
  eventTypes.filter((type) => type.startsWith(`${kind}.`))

/** What all events have. */
export const eventBase = z
  .object({
    id: idField(
      'evt',
      'The id of the event. An event can be delivered more than once; store its id to ignore repetitions.',
    ),
    object: z.literal('event'),
    request: z.object({
      idempotency_key: z.string().nullable().meta({
        description:
          'The idempotency key of the request that caused the event. Null when no request caused it.',
      }),
    }),
    created_at: timeField('When the event happened.'),
    timestamp: timeField('The same as `created_at`, under the name of Standard Webhooks.'),
  })
  .meta({ id: 'EventBase' })

const eventSchema = <Subject extends z.ZodType>(kind: Kind, subject: Subject) =>
  eventBase.extend({
    type: z.enum(eventTypesOf(kind)).meta({ description: 'What happened.' }),
    data: z.object({ object: subject }),
  })

export const exampleEvent = {
  id: exampleId('evt'),
  object: 'event',
  type: 'payment.succeeded',
  data: { object: examplePayment },
  request: { idempotency_key: EXAMPLE_KEY },
  created_at: EXAMPLE_TIME,
  timestamp: EXAMPLE_TIME,
}

const endpointOfEvent = z.object({
  id: idField('we', 'The id of the webhook endpoint.'),
  object: z.literal('webhook_endpoint'),
  description: z.string().nullable().meta({ description: 'Free text, for people.' }),
  status: z.enum(['enabled', 'disabled']).meta({ description: 'The status of the endpoint.' }),
  disabled_reason: z
    .enum(disabledReasons)
    .nullable()
    .meta({ description: 'Why the endpoint is disabled. Null while it is enabled.' }),
  failing_since: timeField('When the first attempt since the last success failed.').nullable(),
})

export const paymentEventSchema = eventSchema('payment', paymentSchema).meta({
  id: 'PaymentEvent',
  description:
    'An event about a payment. `data.object` is the payment as it was when the event happened. `payment.early_fraud_warning`: its bank suspects fraud, and a dispute mostly follows. It changes no status and moves no money; a full refund can prevent the dispute.',
})

export const refundEventSchema = eventSchema('refund', refundSchema).meta({
  id: 'RefundEvent',
  description:
    'An event about a refund. `data.object` is the refund as it was when the event happened.',
})

export const disputeEventSchema = eventSchema('dispute', disputeSchema).meta({
  id: 'DisputeEvent',
  description:
    'An event about a dispute. `data.object` is the dispute as it was when the event happened.',
})

const endpointEventSchema = eventSchema('webhook_endpoint', endpointOfEvent).meta({
  id: 'WebhookEndpointEvent',
  description:
    'An event about a webhook endpoint. `webhook_endpoint.disabled`: the service has disabled it, because it answered with status 410, or has failed for a long time. It is sent to your other endpoints. `webhook_endpoint.test`: you have requested a test. `data.object` has no URL.',
})

export const anyEventSchema = z
  .discriminatedUnion('type', [
    paymentEventSchema,
    refundEventSchema,
    disputeEventSchema,
    endpointEventSchema,
  ])
  .meta({ id: 'Event', examples: [exampleEvent] })
