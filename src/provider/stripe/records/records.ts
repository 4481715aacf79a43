// Reads Stripe's own payments and refunds for reconciliation. A malformed record is an error, because
// leaving it out would look like a difference.
import type Stripe from 'stripe'
import { parsePaymentId } from '../../../domain/payments/payment.ts'
import { parseRefundId } from '../../../domain/payments/refund.ts'
import type {
  OnRepeat,
  ProviderPayment,
  ProviderRefund,
  Window,
  Correlation,
} from '../../payment-provider.ts'
import { isObjectId, isTimestamp, isJson, isUuid, namedId, type Json } from '../../provider-text.ts'
import { withinTimeLimit } from '../../deadline.ts'
import type { Connection } from '../connection.ts'
import { isMissing } from '../errors.ts'
import { pagesWithRetries } from '../lists/pages.ts'
import { refundProviderStatusOf, providerStatusOf } from '../answers.ts'

export async function* listPayments(connection: Connection, window: Window, onRepeat?: OnRepeat) {
  const { paymentIntents } = connection.stripe
  const created = createdWithin(window)
  const list = (page: object) => paymentIntents.list({ ...page, created })
  for await (const page of pagesWithRetries(connection, list, onRepeat)) yield page.map(paymentIn)
}

export async function* listRefunds(connection: Connection, window: Window, onRepeat?: OnRepeat) {
  const { refunds } = connection.stripe
  const created = createdWithin(window)
  const expand = ['data.balance_transaction']
  const list = (page: object) => refunds.list({ ...page, created, expand })
  for await (const page of pagesWithRetries(connection, list, onRepeat)) {
    yield page.filter((record) => !isRelease(record)).map(refundIn)
  }
}

/**
 * Stripe's times are in whole seconds. A window that begins or ends within a second is widened to
 * the whole second, so that no record is left out; a few records from just outside of it are
 * included.
 */
export function createdWithin({ from, to }: Window): Stripe.RangeQueryParam {
  return { gte: Math.floor(from.getTime() / 1_000), lt: Math.ceil(to.getTime() / 1_000) }
}

export async function readPayment(
  connection: Connection,
  providerPaymentId: string,
): Promise<ProviderPayment | undefined> {
  const { paymentIntents } = connection.stripe
  const intent = await readIfThere(connection, () => paymentIntents.retrieve(providerPaymentId))
  return intent === undefined ? undefined : paymentIn(recordOf(intent, providerPaymentId))
}

export async function readRefund(
  connection: Connection,
  providerRefundId: string,
): Promise<ProviderRefund | undefined> {
  const { refunds } = connection.stripe
  const refund = await readIfThere(connection, () => refunds.retrieve(providerRefundId))
  return refund === undefined ? undefined : refundIn(recordOf(refund, providerRefundId))
}

export async function readIfThere<Value>(
  connection: Connection,
  read: () => Promise<Value>,
): Promise<Value | undefined> {
  try {
    return await withinTimeLimit(connection, read)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

export function recordOf(answer: unknown, id: string): Json {
  if (!isJson(answer) || answer['id'] !== id) throw new Error(`the answer is not about ${id}`)
  return answer
}

function paymentIn(record: Json): ProviderPayment {
  const { id, object, amount, currency, created, metadata } = record
  const possible =
    isObjectId(id) && object === 'payment_intent' && isAmount(amount) && isCurrency(currency)
  if (!possible || !isTimestamp(created) || !isJson(metadata)) throw malformed(record)
  return {
    providerPaymentId: id,
    amountMinor: amount,
    currency,
    // The cast is safe: `providerStatusOf` takes no member for granted.
    providerStatus: providerStatusOf(record as unknown as Stripe.PaymentIntent),
    createdAt: new Date(created * 1_000),
    correlation: correlationIn(metadata),
  }
}

/**
 * Whether Stripe made this refund of money that was held and never captured: the rest of a partial
 * capture, or an authorization that expired. It gives the customer nothing back.
 *
 * @param record a refund whose movement is expanded.
 */
export function isRelease({ balance_transaction: movement, reason }: Json): boolean {
  const category = isJson(movement) ? movement['reporting_category'] : undefined
  return category === 'partial_capture_reversal' || reason === 'expired_uncaptured_charge'
}

function refundIn(record: Json): ProviderRefund {
  const { id, object, amount, currency, created, metadata } = record
  const possible = isObjectId(id) && object === 'refund' && isAmount(amount) && isCurrency(currency)
  if (!possible || !isTimestamp(created)) throw malformed(record)
  return {
    providerRefundId: id,
    // Stripe's oldest refunds belong to charges without an intent.
    providerPaymentId: namedId(record['payment_intent']),
    amountMinor: amount,
    currency,
    // The cast is safe: `refundProviderStatusOf` takes no member for granted.
    providerStatus: refundProviderStatusOf(record as unknown as Stripe.Refund),
    createdAt: new Date(created * 1_000),
    // Stripe's types allow null.
    correlation: isJson(metadata) ? correlationIn(metadata) : null,
  }
}

export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}

export function isCurrency(value: unknown): value is string {
  return typeof value === 'string' && /^[a-z]{3}$/.test(value)
}

export function sumOf(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0)
}

/** Null unless every part is well-formed, because metadata can be edited by hand. */
export function correlationIn(metadata: Json): Correlation | null {
  const { atomic_tenant: tenantId, atomic_operation: operationId, atomic_refund } = metadata
  const paymentId = parseText(parsePaymentId, metadata['atomic_payment'])
  const refundId = atomic_refund === undefined ? null : parseText(parseRefundId, atomic_refund)
  const complete = paymentId !== undefined && refundId !== undefined
  if (!complete || !isUuid(tenantId) || !isUuid(operationId)) return null
  return { tenantId, paymentId, refundId, operationId }
}

function parseText(parse: (text: string) => string | undefined, value: unknown) {
  return typeof value === 'string' ? parse(value) : undefined
}

export function malformed(record: Json): Error {
  const id = isObjectId(record['id']) ? record['id'] : 'without an id'
  return new Error(`the provider's record ${id} is malformed`)
}
