// The JSON of payments and refunds, which `presentPayment` and `presentRefund` render, and what the contracts of
// operations share.
import { z } from 'zod'
import {
  cancellationReasons,
  captureMethods,
  presentPayment,
  type Payment,
  paymentStatuses,
} from '../../domain/payments/payment.ts'
import { refundReasons, refundStatuses } from '../../domain/payments/refund.ts'
import {
  EXAMPLE_TIME,
  exampleId,
  idField,
  shownAmount,
  shownCurrency,
  timeField,
  idempotencyField,
} from '../contracts/fields.ts'
import { findPayment } from '../../db/payments/payments.ts'
import type { Success } from '../contracts/contract.ts'
import type { Resource } from '../contracts/reads.ts'

const failureSchema = z
  .object({
    code: z.string().meta({ description: "The provider's error code." }),
    decline_code: z
      .string()
      .nullable()
      .meta({ description: "The provider's reason for a decline, when it states one." }),
    message: z.string().meta({ description: 'A message for people.' }),
  })
  .meta({
    id: 'Failure',
    description: 'Why the payment or refund was declined or failed, as the provider states it.',
  })

const metadataSchema = z.record(z.string(), z.string()).meta({
  description: 'The key-value pairs that you stored with the object.',
})

const shownReference = (kind: string) =>
  z
    .string()
    .nullable()
    .meta({ description: `Your own name of the ${kind}.` })

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
  reference: null,
  metadata: {},
  failure: null,
  cancellation_reason: null,
  capture_before: '2026-02-07T12:00:00.000Z',
  provider: { name: 'stripe', payment_id: 'pi_3SZ0001' },
  created_at: EXAMPLE_TIME,
}

export const paymentSchema = z
  .object({
    id: idField('pay', 'The id of the payment.'),
    object: z.literal('payment'),
    amount: shownAmount('The amount of the payment'),
    amount_captured: shownAmount('The amount that was captured'),
    amount_refunded: shownAmount('The amount that was refunded'),
    currency: shownCurrency,
    status: z.enum(paymentStatuses).meta({
      description:
        'The status of the payment. `processing`: an operation is in progress. `requires_action`: the cardholder must authenticate. `requires_capture`: the amount is held on the card and can be captured or canceled; also after a creation that stopped before its capture. `unknown`: the card may have been charged, and the service is looking up the outcome at the provider. `failed`: the payment stopped, and it is proved, or stated by operators, that it charged and held nothing; a retry of the request that created it resumes it. `succeeded`, `declined` and `canceled` are final.',
    }),
    capture_method: z.enum(captureMethods).meta({
      description:
        'When the amount is captured. `automatic`: as soon as the card is authorized. `manual`: by a later capture request.',
    }),
    payment_method: z.string().meta({ description: "The id of the provider's payment method." }),
    customer: z.string().nullable().meta({ description: "The id of the provider's customer." }),
    description: z.string().nullable().meta({ description: 'Free text, for people.' }),
    reference: shownReference('payment'),
    metadata: metadataSchema,
    next_action: z
      .object({
        type: z.literal('authenticate'),
        client_secret: z.string().nullable().meta({
          description:
            "The provider's client secret. Your page passes it to the provider's library to let the cardholder authenticate.",
        }),
      })
      .optional()
      .meta({
        description: 'What must be done next. Present only when the status is `requires_action`.',
      }),
    failure: failureSchema.nullable(),
    cancellation_reason: z.enum(cancellationReasons).nullable().meta({
      description:
        'Why the payment was canceled: the reason of the request, or `abandoned` when its cardholder did not authenticate in time. `automatic` and `expired`: the authorization expired, and the provider released the money. Null unless the status is `canceled`, and when no reason is known.',
    }),
    capture_before: timeField(
      'When the provider releases the held amount, unless it is captured before. Null while nothing was held, and when the provider does not say.',
    ).nullable(),
    provider: z.object({
      name: z.string().meta({ description: 'The name of the provider.' }),
      payment_id: z
        .string()
        .nullable()
        .meta({ description: "The provider's id of the payment, once it is known." }),
    }),
    created_at: timeField('When the payment was requested.'),
    idempotency: idempotencyField,
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
  reference: null,
  metadata: {},
  failure: null,
  created_at: EXAMPLE_TIME,
}

export const refundSchema = z
  .object({
    id: idField('re', 'The id of the refund.'),
    object: z.literal('refund'),
    payment: idField('pay', 'The payment that is refunded.'),
    amount: shownAmount('The amount of the refund'),
    currency: shownCurrency,
    status: z.enum(refundStatuses).meta({
      description:
        'The status of the refund. `processing`: the request is in progress. `unknown`: the refund may have been made, and the service is looking up the outcome at the provider. `pending`: the provider has accepted it, and has not ended it yet. `requires_action`: the customer must act before the provider can end it. `succeeded`: the money was sent; the bank can still return it for 30 days, and then the refund becomes `failed`. `failed` with a `failure`: the provider could not refund the customer, who must be paid another way; the money is on the balance again, and the amount can be refunded again. `failed` without one: the service stopped, and it is proved, or stated by operators, that no money moved; a retry of the request that created it resumes it. `canceled`: the provider canceled it. `declined`: the provider refused it.',
    }),
    reason: z.enum(refundReasons).nullable().meta({ description: 'The reason for the refund.' }),
    reference: shownReference('refund'),
    metadata: metadataSchema,
    failure: failureSchema.nullable(),
    created_at: timeField('When the refund was requested.'),
    idempotency: idempotencyField,
  })
  .meta({ id: 'Refund', examples: [exampleRefund] })

export const ownPayment = {
  prefix: 'pay',
  schema: paymentSchema,
  idInPath: 'The id of the payment.',
  find: (sql, id, tenantId) => findPayment(sql, tenantId, id),
  present: presentPayment,
} satisfies Resource<Payment>

/** A response that shows a payment, which in its example differs from a charged one. */
export const paymentAnswer = (
  description: string,
  differences: Readonly<Record<string, unknown>> = {},
): Success => ({
  description,
  schema: paymentSchema,
  headers: ['Location'],
  example: { ...examplePayment, ...differences },
})

/** A payment that holds its amount. */
export const heldPayment = {
  amount_captured: 0,
  status: 'requires_capture',
  capture_method: 'manual',
}

/** The description of a response with status 202. */
export const accepted = (resource: string): string =>
  `The operation is accepted and still in progress. The body is the ${resource} in its current state. To get the final response, retry with the same idempotency key, or read the resource at \`Location\`.`

export const acceptedPayment = paymentAnswer(accepted('payment'), {
  amount_captured: 0,
  status: 'processing',
  capture_before: null,
})
