// POST /v1/payments
import { randomUUIDv7 } from 'node:crypto'
import { detailsOfPayment, insertPayments } from '../../db/payments/payments.ts'
import { findChargeProblem, takesCurrency } from '../../domain/payments/amount-rules.ts'
import type { PaymentRequest } from '../../domain/payments/payment.ts'
import { routePayment, type CreateParameters, type Routed } from '../../domain/payments/routing.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { ApiParts } from '../../http/endpoint.ts'
import { keyedEndpoint } from '../../http/keyed/keyed-endpoint.ts'
import { refusing } from '../../http/keyed/keyed-route.ts'
import { showPayment } from '../../http/keyed/unfinished-answer.ts'
import { findReferenceProblem } from '../../http/resources/payment-endpoint.ts'
import { validateBody } from '../../http/requests/validate-body.ts'
import { createPaymentBody, createPaymentContract, isGiven } from './contract.ts'
import { createPayment } from './phases.ts'

export const createPaymentEndpoint = keyedEndpoint({
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
  showUnfinished: showPayment,
})

/** Of a request that is refused. */
const NOWHERE: Routed = { provider: '', paymentMethod: '' }

/**
 * A provider that cannot express the currency is passed over. With payment methods by provider, so is
 * one that refuses the amount, if another one accepts it. A customer belongs to the first provider,
 * so its payment has no other. Undefined when no provider takes the payment.
 */
function route(parts: ApiParts, payment: NewPayment): Routed | undefined {
  const { providerName, routes = [{ provider: providerName }], capabilitiesOf } = parts
  const { currency, customer, paymentMethods } = payment
  const able = routes.filter((one) => takesCurrency(capabilitiesOf(one.provider).amounts, currency))
  const routed = routePayment(able, currency, paymentMethods)
  if (routed === undefined || typeof paymentMethods === 'string') return routed
  if (customer !== null) return { ...routed, fallback: undefined }
  const fit = able.filter((one) => findAmountProblem(parts, one.provider, payment) === undefined)
  return routePayment(fit, currency, paymentMethods) ?? routed
}

function findAmountProblem(
  { capabilitiesOf }: ApiParts,
  provider: string,
  { amountMinor, currency }: NewPayment,
): ProblemError | undefined {
  return findChargeProblem(capabilitiesOf(provider).amounts, amountMinor, currency)
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
