// What openapi.yaml says of POST /v1/payments, and the schema that checks its body.
import { z } from 'zod'
import { isCurrency } from '../../domain/payments/currency.ts'
import { captureMethods } from '../../domain/payments/payment.ts'
import { acceptedPayment, paymentAnswer } from '../../http/payments/contract.ts'
import type { KeyedContract } from '../../http/keyed/keyed-endpoint.ts'
import { amountField, metadataField, textField } from '../../http/requests/body-fields.ts'

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

export const createPaymentContract: KeyedContract = {
  operationId: 'createPayment',
  tag: 'Payments',
  summary: 'Charge a card, once',
  description:
    'However often the request is sent with the same key, the card is charged once at most. A payment that needs the holder of the card has status `requires_action`, and goes on by itself when the holder has authenticated.',
  keyed: 'foreign',
  body: {
    schema: createPaymentBody.meta({ id: 'CreatePayment' }),
    example: { amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' },
  },
  answers: {
    201: paymentAnswer('The payment, charged or waiting for its holder or its capture.'),
    202: acceptedPayment,
  },
  problems: ['payment-declined', 'invalid-amount', 'unknown-currency'],
}
