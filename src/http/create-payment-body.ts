// The body of POST /v1/payments: the schema that checks it and describes it in openapi.yaml.
import { z } from 'zod'
import { isCurrency } from '../domain/payments/currency.ts'
import { captureMethods, type PaymentRequest } from '../domain/payments/payment.ts'
import { amountField, metadataField, textField } from './body-fields.ts'
import { validateBody } from './validate-body.ts'

const VISIBLE_ASCII = /^[\x21-\x7E]+$/

const providerId = z
  .string()
  .min(1)
  .max(255)
  .regex(VISIBLE_ASCII, 'Invalid string: must be visible ASCII without spaces')

/** The optional fields take null for absent: clients that have no value tend to send it. */
export const createPaymentBody = z.strictObject({
  amount: amountField.meta({
    description: 'Amount in minor units, such as cents.',
    examples: [1999],
  }),
  currency: z
    .string()
    .refine(isCurrency, { error: 'Invalid currency: expected an ISO 4217 code in lower case' })
    .meta({
      description: 'ISO 4217 code in lower case.',
      pattern: '^[a-z]{3}$',
      examples: ['usd'],
    }),
  payment_method: providerId.meta({
    description: "Id of the provider's payment method. Never a card number.",
    examples: ['pm_card_visa'],
  }),
  capture_method: z.enum(captureMethods).default('automatic').meta({
    description: 'Whether the amount is captured at once or by a later request.',
  }),
  customer: providerId.nullish().meta({ description: "Id of the provider's customer." }),
  description: textField({ max: 1000 }).nullish().meta({ description: 'Free text, for people.' }),
  metadata: metadataField.nullish().meta({ description: "The client's own names and values." }),
})

/**
 * What a client asks for, from the body of its request.
 *
 * @throws ProblemError unknown-field, invalid-amount, unknown-currency or invalid-field, see
 *   `validateBody`.
 */
export function validateCreatePayment(body: Readonly<Record<string, unknown>>): PaymentRequest {
  const valid = validateBody(createPaymentBody, body)
  return {
    amountMinor: valid.amount,
    currency: valid.currency,
    paymentMethod: valid.payment_method,
    captureMethod: valid.capture_method,
    customer: valid.customer ?? null,
    description: valid.description ?? null,
    metadata: valid.metadata ?? {},
  }
}
