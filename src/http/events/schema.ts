// Events as `/v1/events` and the webhooks show them, described for openapi.yaml.
import { z } from 'zod'
import { eventTypes } from '../../domain/events/event.ts'
import { EXAMPLE_TIME, exampleId, idField, timeField } from '../contracts/fields.ts'
import { examplePayment, exampleRefund, paymentSchema, refundSchema } from '../payments/schema.ts'

type Kind = 'payment' | 'refund'

export const eventTypesOf = (kind: Kind): string[] =>
  eventTypes.filter((type) => type.startsWith(`${kind}.`))

function eventSchema<Subject extends z.ZodType>(kind: Kind, subject: Subject) {
  return z.object({
    id: idField('evt', 'Names the event; a receiver that keeps it notices a repetition.'),
    object: z.literal('event'),
    type: z.enum(eventTypesOf(kind)),
    data: z.object({
      object: subject,
    }),
    request: z.object({
      idempotency_key: z
        .string()
        .nullable()
        .meta({ description: 'The key of the request that led to it; null when none did.' }),
    }),
    created_at: timeField('When it happened.'),
  })
}

/** An example of that type. */
export function exampleEvent(type: string): Record<string, unknown> {
  return {
    id: exampleId('evt'),
    object: 'event',
    type,
    data: { object: type.startsWith('refund') ? exampleRefund : examplePayment },
    request: { idempotency_key: 'order-1042' },
    created_at: EXAMPLE_TIME,
  }
}

export const paymentEventSchema = eventSchema('payment', paymentSchema).meta({
  id: 'PaymentEvent',
  description: 'The payment is shown as it was when the event happened.',
  examples: [exampleEvent('payment.succeeded')],
})

export const refundEventSchema = eventSchema('refund', refundSchema).meta({
  id: 'RefundEvent',
  description: 'The refund is shown as it was when the event happened.',
  examples: [exampleEvent('refund.succeeded')],
})

export const anyEventSchema = z.union([paymentEventSchema, refundEventSchema]).meta({ id: 'Event' })
