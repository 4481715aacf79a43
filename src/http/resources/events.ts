// GET /v1/events and GET /v1/events/:id: list and return events.
import { z } from 'zod'
import { findEvent, listEvents } from '../../db/events/events.ts'
import { presentEvent, type Event } from '../../domain/events/event.ts'
import { eventTypes } from '../../domain/events/event-types.ts'
import { disabledReasons } from '../../domain/webhooks/webhook-endpoint.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { EXAMPLE_KEY, EXAMPLE_TIME, exampleId, idField, timeField } from '../contracts/fields.ts'
import { byId, byName } from '../contracts/parameters.ts'
import { readOne, readList, type Resource } from '../contracts/reads.ts'
import { disputeSchema } from './disputes.ts'
import { examplePayment, paymentSchema, refundSchema } from './payment.ts'

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

const event = {
  prefix: 'evt',
  schema: anyEventSchema,
  idInPath: 'The id of the event.',
  find: (sql, id, tenantId) => findEvent(sql, tenantId, id),
  present: presentEvent,
} satisfies Resource<Event>

const ofEvents = { tag: 'Events', scope: 'events:read' } as const

export const eventEndpoints: Endpoints = {
  'GET /v1/events': readList({
    operationId: 'listEvents',
    summary: 'List events',
    description:
      'Returns your events, newest first. An event is shown only when no earlier one can still appear, so that a program can follow the list with `ending_before`.',
    of: event,
    ...ofEvents,
    filters: {
      type: byName(
        eventTypes,
        'one event type, such as payment.succeeded',
        'Only return events of this type.',
      ),
      payment: byId(
        'pay',
        'payment',
        'Only return the events of this payment, of its refunds and of its disputes.',
      ),
    },
    read: ({ store }, page, { type, payment: paymentId }, { reader }) =>
      listEvents(store.sql, reader, { type, paymentId }, page),
    answer: 'A page of events.',
  }),
  'GET /v1/events/:id': readOne({
    operationId: 'getEvent',
    summary: 'Retrieve an event',
    description: 'Returns an event. Webhooks deliver the same object.',
    of: event,
    ...ofEvents,
    answer: 'The event.',
  }),
}
