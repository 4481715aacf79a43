// POST /v1/payments
import { randomUUIDv7 } from 'node:crypto'
import { detailsOfPayment, insertPayments } from '../../db/payments/payments.ts'
import { findChargeProblem, takesCurrency, isCurrency } from '../../domain/payments/currency.ts'
import { type PaymentRequest, captureMethods } from '../../domain/payments/payment.ts'
import { routePayment, type CreateParameters, type Routed } from '../../domain/payments/routing.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { ServiceParts, TenantParts } from '../../http/endpoint.ts'
import {
  defineKeyedRoute,
  refusing,
  type KeyedContract,
  findReferenceProblem,
} from '../../http/keyed/keyed-route.ts'
import { paymentResource } from '../../http/resources/payment-endpoint.ts'
import {
  validateBody,
  optionalField,
  optionalMetadataField,
  providerIdField,
  referenceField,
  textField,
  chargeAmountField,
} from '../../http/requests/validate-body.ts'
import { createPayment } from './phases.ts'
import { z } from 'zod'
import { providerNames } from '../../provider/adapters.ts'
import { acceptedPayment, paymentAnswer } from '../../http/resources/payment.ts'

/** Only with an authority, which a URL that is a script or data does not have. */
const RETURN_URL = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[\x21-\x7E]+$/

const fields = z.strictObject({
  amount: chargeAmountField.describe(
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
const isGiven = <Value>(value: Value | null | undefined): value is Value =>
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

const createPaymentContract: KeyedContract = {
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

export const createPaymentEndpoint = defineKeyedRoute({
  operation: createPayment,
  path: '/v1/payments',
  scope: 'payments:write',
  contract: createPaymentContract,
  readBeforeKey: async ({ parts, body }) => {
    const payment = paymentRequestOf(body)
    const routed = route(parts, payment)
    const problem =
      findReferenceProblem(parts, payment.reference) ??
      (routed === undefined
        ? new ProblemError('no-provider')
        : findAmountProblem(parts, routed.provider, payment))
    const { provider, paymentMethod, fallback } = routed ?? NOWHERE
    return refusing(problem, {
      paymentId: randomUUIDv7(),
      parameters: { ...(fallback && { fallback }) } satisfies CreateParameters,
      details: detailsOfPayment({ ...payment, paymentMethod }, provider),
      resource: insertPayments,
      explainRefusal: () => Promise.resolve(customerNotFound()),
    })
  },
  resource: paymentResource,
})

/** Of a request that is refused. */
const NOWHERE: Routed = { provider: '', paymentMethod: '' }

/**
 * A provider that cannot express the currency is passed over. With payment methods by provider, so is
 * one that refuses the amount, if another one accepts it. A customer belongs to the first provider,
 * so its payment has no other. Undefined when no provider takes the payment.
 */
function route(parts: TenantParts, payment: NewPayment): Routed | undefined {
  const { defaultName, capabilitiesOf } = parts.providers
  const routes = parts.tenant?.routes ?? [{ provider: defaultName }]
  const { currency, customer, paymentMethods } = payment
  const able = routes.filter((one) => takesCurrency(capabilitiesOf(one.provider).amounts, currency))
  const routed = routePayment(able, currency, paymentMethods)
  if (routed === undefined || typeof paymentMethods === 'string') return routed
  if (customer !== null) return { ...routed, fallback: undefined }
  const fit = able.filter((one) => findAmountProblem(parts, one.provider, payment) === undefined)
  return routePayment(fit, currency, paymentMethods) ?? routed
}

function findAmountProblem(
  { providers }: ServiceParts,
  provider: string,
  { amountMinor, currency }: NewPayment,
): ProblemError | undefined {
  return findChargeProblem(providers.capabilitiesOf(provider).amounts, amountMinor, currency)
}

/** The store refuses a payment for this reason alone. It is the same for every unknown customer. */
function customerNotFound(): ProblemError {
  const errors = [{ pointer: '/customer', detail: 'No such customer' }]
  return new ProblemError('customer-not-found', { errors })
}

interface NewPayment extends Omit<PaymentRequest, 'paymentMethod'> {
  /** One for the first provider, or some by the name of their provider. */
  readonly paymentMethods: string | Readonly<Record<string, string>>
}

/**
 * What a client asks for, from the body of its request.
 *
 * @throws ProblemError unknown-field, invalid-amount, unknown-currency or invalid-field, see
 *   `validateBody`.
 */
export function paymentRequestOf(body: Readonly<Record<string, unknown>>): NewPayment {
  const valid = validateBody(createPaymentBody, body)
  return {
    amountMinor: valid.amount,
    currency: valid.currency,
    paymentMethods: valid.payment_method ?? withValues(valid.payment_methods ?? {}),
    captureMethod: valid.capture_method,
    customer: valid.customer ?? null,
    description: valid.description ?? null,
    reference: valid.reference ?? null,
    metadata: valid.metadata ?? {},
    offSession: valid.off_session ?? false,
    returnUrl: valid.return_url ?? null,
  }
}

function withValues(methods: Readonly<Record<string, string | null | undefined>>) {
  const given = Object.entries(methods).flatMap(([provider, method]) =>
    isGiven(method) ? [[provider, method] as const] : [],
  )
  return Object.fromEntries(given)
}
