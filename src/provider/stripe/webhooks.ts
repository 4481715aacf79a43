// Reads events that Stripe sends: verifies that an event is from Stripe and recent, and extracts
// the stored part. The rest of the payload is dropped here, because it may contain card details.
import Stripe from 'stripe'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { parsePaymentId } from '../../domain/payments/payment.ts'
import type { ProviderEvent } from '../../domain/events/provider-event.ts'
import { isObjectId, isTimestamp, isJson, isUuid, namedId, type Json } from '../provider-text.ts'

export interface StripeWebhookOptions {
  /**
   * The signing secret of the endpoint. While it is rolled, Stripe signs with both, so one is
   * enough.
   */
  readonly secret: string
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** Stripe's own default. When Stripe sends an event again, it signs it again. */
const TOLERANCE_SECONDS = 300

/**
 * Creates a reader for the events of one endpoint.
 *
 * @returns a function that throws ProblemError webhook-signature-invalid, webhook-too-old (signed
 *   more than 300 seconds ago, or in the future) or webhook-malformed (signed, but not an event).
 * @see https://docs.stripe.com/webhooks#verify-official-libraries
 */
export function createStripeEventReader({ secret, now }: StripeWebhookOptions) {
  return (body: Uint8Array, signature: string | undefined): ProviderEvent => {
    if (signature === undefined) throw new ProblemError('webhook-signature-invalid')
    const verify = (toleranceSeconds: number): unknown =>
      Stripe.webhooks.constructEvent(body, signature, secret, toleranceSeconds, undefined, now())
    const value = verifyOrExplain(verify)
    if (isOfTheFuture(signature, now())) throw new ProblemError('webhook-too-old')
    const event = readEvent(value)
    if (event === undefined) throw new ProblemError('webhook-malformed')
    return event
  }
}

/**
 * The package accepts a signature of any future time. It could be sent again until then.
 *
 * @param signature a valid one.
 */
function isOfTheFuture(signature: string, nowMs: number): boolean {
  const time = signature.split(',').findLast((part) => part.startsWith('t='))
  return Number.parseInt(time?.slice(2) ?? '', 10) > nowMs / 1_000 + TOLERANCE_SECONDS
}

/** With this tolerance the package ignores the age of a signature. */
const ANY_AGE = 0

/**
 * Verifies the event. The package's errors are dropped, because they quote the payload and the
 * signature.
 */
function verifyOrExplain(verify: (toleranceSeconds: number) => unknown): unknown {
  try {
    return verify(TOLERANCE_SECONDS)
  } catch (error) {
    if (!isRefusal(error)) throw new ProblemError('webhook-malformed')
  }
  try {
    verify(ANY_AGE)
  } catch (error) {
    if (isRefusal(error)) throw new ProblemError('webhook-signature-invalid')
  }
  throw new ProblemError('webhook-too-old')
}

/** Any other error means that the signed body is not the JSON of an event. */
function isRefusal(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeSignatureVerificationError
}

/** @see https://docs.stripe.com/api/events/object */
function readEvent(value: unknown): ProviderEvent | undefined {
  if (!isJson(value) || value['object'] !== 'event') return undefined
  const { id, type, created, data } = value
  const object = isJson(data) ? data['object'] : undefined
  if (!isObjectId(id) || !isType(type) || !isTimestamp(created) || !isJson(object)) return undefined
  return {
    provider: 'stripe',
    id,
    type,
    about: subjects.get(object['object']) ?? 'payment',
    // Some objects, for example a balance, have no id.
    objectId: isObjectId(object['id']) ? object['id'] : '',
    providerPaymentId: paymentOf(object),
    subject: subjectOf(object['metadata']),
    occurredAt: new Date(created * 1_000),
  }
}

/** The objects that have metadata of their own, and so name no payment of ours. */
const subjects = new Map<unknown, ProviderEvent['about']>([
  ['dispute', 'dispute'],
  ['radar.early_fraud_warning', 'early_fraud_warning'],
])

function isType(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.]{1,255}$/.test(value)
}

/** The intent that the object is, or that a charge or refund names: as an id or expanded. */
function paymentOf(object: Json): string | null {
  const named = object['object'] === 'payment_intent' ? object : object['payment_intent']
  return namedId(named)
}

function subjectOf(metadata: unknown): ProviderEvent['subject'] {
  if (!isJson(metadata)) return null
  const { atomic_tenant: tenantId, atomic_payment: payment } = metadata
  const paymentId = typeof payment === 'string' ? parsePaymentId(payment) : undefined
  const named = isUuid(tenantId) && paymentId !== undefined
  return named ? { tenantId, paymentId } : null
}
