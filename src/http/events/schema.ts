// Describes the JSON of events, in `/v1/events` and in webhooks, for openapi.yaml.
import { z } from 'zod'
import { eventTypes } from '../../domain/events/event.ts'
import { disputeSchema, exampleDispute } from '../disputes/schema.ts'
import { EXAMPLE_TIME, exampleId, idField, timeField } from '../contracts/fields.ts'
import { examplePayment, exampleRefund, paymentSchema, refundSchema } from '../payments/schema.ts'

type Kind = 'payment' | 'refund' | 'dispute'

const eventTypesOf = (kind: Kind): string[] =>
  eventTypes.filter((type) => type.startsWith(`${kind}.`))

function eventSchema<Subject extends z.ZodType>(kind: Kind, subject: Subject) {
  return z.object({
    id: idField(
      'evt',
      'The id of the event. An event can be delivered more than once; store its id to ignore repetitions.',
    ),
    object: z.literal('event'),
    type: z.enum(eventTypesOf(kind)).meta({ description: 'What happened.' }),
    data: z.object({
      object: subject,
    }),
    request: z.object({
      idempotency_key: z.string().nullable().meta({
        description:
          'The idempotency key of the request that caused the event. Null when no request caused it.',
      }),
    }),
    created_at: timeField('When the event happened.'),
  })
}

/** Returns an example of an event with this type. */
export function exampleEvent(type: string): Record<string, unknown> {
  return {
    id: exampleId('evt'),
    object: 'event',
    type,
    data: { object: exampleOf(type) },
    request: { idempotency_key: type.startsWith('dispute') ? null : 'order-1042' },
    created_at: EXAMPLE_TIME,
  }
}

function exampleOf(type: string): Record<string, unknown> {
  if (type.startsWith('dispute')) return exampleDispute
  return type.startsWith('refund') ? exampleRefund : examplePayment
}

export const paymentEventSchema = eventSchema('payment', paymentSchema).meta({
  id: 'PaymentEvent',
  description:
    'An event about a payment. `data.object` is the payment as it was when the event happened. `payment.early_fraud_warning`: its bank suspects fraud, and a dispute mostly follows. It changes no status and moves no money; a full refund can prevent the dispute.',
  examples: [exampleEvent('payment.succeeded')],
})

export const refundEventSchema = eventSchema('refund', refundSchema).meta({
  id: 'RefundEvent',
  description:
    'An event about a refund. `data.object` is the refund as it was when the event happened.',
  examples: [exampleEvent('refund.succeeded')],
})

export const disputeEventSchema = eventSchema('dispute', disputeSchema).meta({
  id: 'DisputeEvent',
  description:
    'An event about a dispute. `data.object` is the dispute as it was when the event happened.',
  examples: [exampleEvent('dispute.created')],
})

export const anyEventSchema = z
  .union([paymentEventSchema, refundEventSchema, disputeEventSchema])
  .meta({ id: 'Event' })
