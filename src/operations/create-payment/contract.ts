// The contract of POST /v1/payments, and the schema of its body.
import { z } from 'zod'
import { isCurrency } from '../../domain/payments/currency.ts'
import { captureMethods } from '../../domain/payments/payment.ts'
import { chargeAmountField } from '../../http/payments/amount-fields.ts'
import { acceptedPayment, paymentAnswer } from '../../http/payments/contract.ts'
import type { KeyedContract } from '../../http/keyed/keyed-route.ts'
import {
  optionalField,
  optionalMetadataField,
  providerIdField,
  referenceField,
  textField,
} from '../../http/requests/body-fields.ts'

export const createPaymentBody = z.strictObject({
  amount: chargeAmountField(
    'The amount in minor units, such as cents. In digits only: `1e3` and `1000.0` are refused.',
  ),
  currency: z
    .string()
    .refine(isCurrency, { error: 'Invalid currency: expected an ISO 4217 code in lower case' })
    .meta({
      description: 'The ISO 4217 code of the currency, in lower case.',
      pattern: '^[a-z]{3}$',
      examples: ['usd'],
    }),
  payment_method: providerIdField.meta({
    description:
      "The id of the provider's payment method. Never a card number. A saved payment method needs the customer that owns it.",
    examples: ['pm_card_visa'],
  }),
  capture_method: z.enum(captureMethods).default('automatic').meta({
    description:
      'When the amount is captured. `automatic`: as soon as the card is authorized. `manual`: by a later capture request.',
  }),
  customer: optionalField(providerIdField).meta({
    description:
      "The id of the provider's customer. Only the customers of the tenant are accepted, which an operator assigns.",
  }),
  description: optionalField(textField({ max: 1000 })).meta({
    description: 'Free text, for people.',
  }),
  reference: optionalField(referenceField).meta({
    description:
      'Your own name of what is paid, for example the number of an order. The service charges each reference once: while a payment with it may charge or has charged, another one is refused, also with another key. A payment that was declined, canceled or has failed leaves its reference free. A reference must name no person.',
    examples: ['order-1042'],
  }),
  metadata: optionalMetadataField.meta({
    description: 'Key-value pairs to store with the payment.',
  }),
})

export const createPaymentContract: KeyedContract = {
  operationId: 'createPayment',
  tag: 'Payments',
  summary: 'Create a payment',
  description:
    'Charges a card. The card is charged at most once, even if the request is sent several times with the same key. If the cardholder must authenticate, the payment has status `requires_action` and continues automatically after the authentication.',
  keyed: 'foreign',
  body: {
    schema: createPaymentBody.meta({ id: 'CreatePayment' }),
    example: { amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' },
  },
  answers: {
    201: paymentAnswer('The payment: charged, or waiting for authentication or capture.'),
    202: acceptedPayment,
  },
  problems: [
    'payment-declined',
    'invalid-state',
    'invalid-amount',
    'amount-too-small',
    'unknown-currency',
    'customer-not-found',
    'duplicate-reference',
    'reference-required',
  ],
}
