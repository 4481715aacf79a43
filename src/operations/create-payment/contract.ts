// The contract of POST /v1/payments, and the schema of its body.
import { z } from 'zod'
import { isCurrency } from '../../domain/payments/currency.ts'
import { captureMethods } from '../../domain/payments/payment.ts'
import { providerNames } from '../../provider/declared.ts'
import { chargeAmountField } from '../../http/resources/amount-fields.ts'
import { acceptedPayment, paymentAnswer } from '../../http/resources/payment.ts'
import type { KeyedContract } from '../../http/keyed/keyed-route.ts'
import {
  optionalField,
  optionalMetadataField,
  providerIdField,
  referenceField,
  textField,
} from '../../http/requests/body-fields.ts'

/** Only with an authority, which a URL that is a script or data does not have. */
const RETURN_URL = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[\x21-\x7E]+$/

const fields = z.strictObject({
  amount: chargeAmountField(
    'The amount, such as 1999 for 19.99 usd. In digits only: `1e3` and `1000.0` are refused.',
  ),
  currency: z
    .string()
    .refine(isCurrency, { error: 'Invalid currency: expected an ISO 4217 code in lower case' })
    .meta({
      description: 'The ISO 4217 code of the currency, in lower case.',
      pattern: '^[a-z]{3}$',
    }),
  payment_method: optionalField(providerIdField).meta({
    description:
      "The id of the provider's payment method: of the first provider of the tenant that takes the currency. Never a card number. A saved payment method needs the customer that owns it. Required without `payment_methods`.",
  }),
  payment_methods: optionalField(
    z.strictObject(
      Object.fromEntries(providerNames.map((name) => [name, optionalField(providerIdField)])),
    ),
  ).meta({
    description:
      'Instead of `payment_method`: a payment method for each provider that may charge, by its name. The payment goes to the first provider of the tenant that takes its currency and amount, and has one here. If that provider is proved to have executed nothing, for example because it cannot be reached, the payment moves once to the next one. A payment with a `customer` does not move.',
  }),
  capture_method: z.enum(captureMethods).default('automatic').meta({
    description:
      'When the amount is captured. `automatic`, the default: as soon as the card is authorized. `manual`: by a later capture request.',
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
  }),
  metadata: optionalMetadataField.meta({
    description: 'Key-value pairs to store with the payment.',
  }),
  off_session: optionalField(z.boolean()).meta({
    description:
      'Whether the customer is absent, as for a renewal with a saved payment method. A payment that would need authentication is then declined with the code `authentication_required`, instead of waiting in `requires_action`. False by default.',
  }),
  return_url: optionalField(
    z
      .string()
      .max(2_048)
      .regex(RETURN_URL, 'Invalid URL: expected a scheme, :// and visible ASCII'),
  ).meta({
    description:
      'Where the provider sends a customer back who had to leave your page to authenticate: a page, or a URL with the scheme of an app. By default the page that the operator has set (`PAYMENT_RETURN_URL`).',
  }),
})

/** Null is as good as absent. */
export const isGiven = <Value>(value: Value | null | undefined): value is Value =>
  value !== null && value !== undefined

/** Checked even if other fields are wrong, so that one answer lists all errors. */
const always = () => true

/** With exactly one of `payment_method` and `payment_methods`. */
export const createPaymentBody = fields
  .refine((body) => isGiven(body.payment_method) || isGiven(body.payment_methods), {
    path: ['payment_method'],
    error: 'Required',
    when: always,
  })
  .refine((body) => !(isGiven(body.payment_method) && isGiven(body.payment_methods)), {
    path: ['payment_methods'],
    error: 'Not allowed beside payment_method',
    when: always,
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
    'no-provider',
    'duplicate-reference',
    'reference-required',
  ],
}
