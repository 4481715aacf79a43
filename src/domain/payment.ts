// A payment as the domain knows it, and as the API shows it.
import { TypeID } from 'typeid-js'

export const paymentStatuses = [
  'processing',
  'unknown',
  'requires_capture',
  'succeeded',
  'declined',
  'canceled',
  'failed',
] as const
export type PaymentStatus = (typeof paymentStatuses)[number]

export const captureMethods = ['automatic', 'manual'] as const
export type CaptureMethod = (typeof captureMethods)[number]

/** The largest amount of one payment in minor units: eight digits, as at Stripe. */
export const AMOUNT_MAX_MINOR = 99_999_999

/** Why a payment was declined or failed, in the provider's words. */
export interface Failure {
  readonly code: string
  readonly declineCode: string | null
  readonly message: string
}

/** What a client asks for when it creates a payment. */
export interface PaymentRequest {
  readonly amountMinor: number
  readonly currency: string
  readonly captureMethod: CaptureMethod
  readonly paymentMethod: string
  readonly customer: string | null
  readonly description: string | null
  readonly metadata: Readonly<Record<string, string>>
}

export interface Payment extends PaymentRequest {
  readonly tenantId: string
  readonly id: string
  readonly amountCapturedMinor: number
  readonly amountRefundedMinor: number
  readonly status: PaymentStatus
  readonly failure: Failure | null
  readonly provider: string
  readonly providerPaymentId: string | null
  readonly createdAt: Date
}

const PREFIX = 'pay'

/** A payment's UUID as the TypeID that clients see: `pay_` and 26 characters of base 32. */
export function showPaymentId(id: string): string {
  return TypeID.fromUUID(PREFIX, id).toString()
}

/** The UUID behind a `pay_...` id, or undefined when the text is not one. */
export function parsePaymentId(text: string): string | undefined {
  try {
    return TypeID.fromString(text, PREFIX).toUUID()
  } catch {
    // The package reports a malformed id by throwing; to a caller it is just no id of ours.
    return undefined
  }
}

/** The path at which a payment can be read. */
export function paymentPath(id: string): string {
  return `/v1/payments/${showPaymentId(id)}`
}

/** The payment as the API shows it; amounts in minor units, times in ISO 8601. */
export function presentPayment(payment: Payment): Record<string, unknown> {
  return {
    id: showPaymentId(payment.id),
    object: 'payment',
    amount: payment.amountMinor,
    amount_captured: payment.amountCapturedMinor,
    amount_refunded: payment.amountRefundedMinor,
    currency: payment.currency,
    status: payment.status,
    capture_method: payment.captureMethod,
    payment_method: payment.paymentMethod,
    customer: payment.customer,
    description: payment.description,
    metadata: payment.metadata,
    failure: payment.failure && {
      code: payment.failure.code,
      decline_code: payment.failure.declineCode,
      message: payment.failure.message,
    },
    provider: { name: payment.provider, payment_id: payment.providerPaymentId },
    created_at: payment.createdAt.toISOString(),
  }
}
