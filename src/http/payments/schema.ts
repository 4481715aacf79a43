// A payment and a refund as the API shows them, described for openapi.yaml; `presentPayment` and
// `presentRefund` make them.
import { z } from 'zod'
import { captureMethods } from '../../domain/payments/payment.ts'
import { paymentStatuses } from '../../domain/payments/payment-status.ts'
import { refundReasons, refundStatuses } from '../../domain/payments/refund.ts'
import {
  EXAMPLE_TIME,
  exampleId,
  idField,
  shownAmount,
  shownCurrency,
  timeField,
} from '../contracts/fields.ts'

const failureSchema = z
  .object({
    code: z.string(),
    decline_code: z.string().nullable(),
    message: z.string(),
  })
  .meta({
    id: 'Failure',
    description: "Why it was declined or failed, in the provider's words.",
    examples: [{ code: 'card_declined', decline_code: 'generic_decline', message: 'Declined.' }],
  })

const metadataSchema = z
  .record(z.string(), z.string())
  .meta({ description: "The client's own names and values.", examples: [{ order: '1042' }] })

export const examplePayment = {
  id: exampleId('pay'),
  object: 'payment',
  amount: 1999,
  amount_captured: 1999,
  amount_refunded: 0,
  currency: 'usd',
  status: 'succeeded',
  capture_method: 'automatic',
  payment_method: 'pm_card_visa',
  customer: null,
  description: null,
  metadata: { order: '1042' },
  failure: null,
  provider: { name: 'stripe', payment_id: 'pi_3SZ0001' },
  created_at: EXAMPLE_TIME,
}

export const paymentSchema = z
  .object({
    id: idField('pay', 'Names the payment.'),
    object: z.literal('payment'),
    amount: shownAmount('What was asked for'),
    amount_captured: shownAmount('What was taken'),
    amount_refunded: shownAmount('What was given back of it'),
    currency: shownCurrency,
    status: z.enum(paymentStatuses).meta({
      description:
        '`processing`: an operation works on it. `requires_action`: the holder of the card must authenticate. `requires_capture`: money is held. `unknown`: it may have been charged, and is being looked up. `failed`: proved that nothing was charged; a retry of its creation goes on. `succeeded`, `declined` and `canceled` are final.',
    }),
    capture_method: z.enum(captureMethods),
    payment_method: z.string().meta({ description: "Id of the provider's payment method." }),
    customer: z.string().nullable().meta({ description: "Id of the provider's customer." }),
    description: z.string().nullable(),
    metadata: metadataSchema,
    next_action: z
      .object({
        type: z.literal('authenticate'),
        client_secret: z.string().nullable().meta({
          description: "With it the client's page lets the holder of the card authenticate.",
        }),
      })
      .optional()
      .meta({ description: 'There in status `requires_action` alone.' }),
    failure: failureSchema.nullable(),
    provider: z.object({ name: z.string(), payment_id: z.string().nullable() }),
    created_at: timeField('When it was asked for.'),
  })
  .meta({ id: 'Payment', examples: [examplePayment] })

export const exampleRefund = {
  id: exampleId('re'),
  object: 'refund',
  payment: exampleId('pay'),
  amount: 500,
  currency: 'usd',
  status: 'succeeded',
  reason: 'requested_by_customer',
  metadata: {},
  failure: null,
  created_at: EXAMPLE_TIME,
}

export const refundSchema = z
  .object({
    id: idField('re', 'Names the refund.'),
    object: z.literal('refund'),
    payment: idField('pay', 'The payment of which it gives something back.'),
    amount: shownAmount('What is given back'),
    currency: shownCurrency,
    status: z
      .enum(refundStatuses)
      .meta({ description: 'The words mean what they do for payments.' }),
    reason: z.enum(refundReasons).nullable(),
    metadata: metadataSchema,
    failure: failureSchema.nullable(),
    created_at: timeField('When it was asked for.'),
  })
  .meta({ id: 'Refund', examples: [exampleRefund] })

export const phaseRunSchema = z
  .object({
    object: z.literal('phase_run'),
    operation: z.string().meta({ examples: ['payment.create'] }),
    phase: z.string().nullable().meta({ description: 'Null for the beginning of an operation.' }),
    recovery_point: z
      .string()
      .nullable()
      .meta({ description: 'The one it reached; null when it settled nothing.' }),
    attempt: z.int(),
    lease_epoch: z.int(),
    provider: z
      .object({
        outcome: z.enum(['done', 'declined', 'not_executed', 'unknown']),
        asked: z.record(z.string(), z.unknown()).nullable(),
        answered: z.record(z.string(), z.unknown()).nullable(),
      })
      .nullable()
      .meta({
        description: 'What was asked of the provider and what it answered, without secrets.',
      }),
    started_at: timeField('When this try began.'),
    recorded_at: timeField('When it was written down.'),
  })
  .meta({ id: 'PhaseRun', description: 'One try of one step of an operation.' })
