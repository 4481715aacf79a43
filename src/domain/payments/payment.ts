// Defines payments, their statuses and transitions, and renders them for the API. A CHECK constraint has
// the same transitions, which a test compares, and each change of a status is guarded by the status that it
// leaves.
import { parseId, showId } from '../resource-id.ts'

/**
 * Every status, with the statuses that may follow it.
 *
 * `processing`: an operation is working on it. `requires_action`: the cardholder must authenticate.
 * `requires_capture`: money is held. `unknown`: a provider call may have been executed; only the outcome
 * resolver may act. `failed`: nothing was charged or held; a retry of the creation
 * continues it.
 */
export const paymentTransitions = {
  processing: [
    'processing',
    'requires_action',
    'requires_capture',
    'succeeded',
    'declined',
    'canceled',
    'failed',
    'unknown',
  ],
  requires_action: ['processing'],
  requires_capture: ['processing'],
  unknown: ['processing'],
  failed: ['processing'],
  succeeded: [],
  declined: [],
  canceled: [],
} as const satisfies Record<string, readonly string[]>

/** The status in which every payment and every refund begins: its intent is under way. */
export const initialStatus = 'processing'

export type PaymentStatus = keyof typeof paymentTransitions

export const paymentStatuses = Object.keys(paymentTransitions) as PaymentStatus[]

/** The statuses that `processing` may follow: those from which an operation can take a payment. */
export type StartStatus = {
  [Status in PaymentStatus]: 'processing' extends (typeof paymentTransitions)[Status][number]
    ? Status
    : never
}[PaymentStatus]

/** Whether no status can follow this one. */
export function isFinal(status: PaymentStatus): boolean {
  return paymentTransitions[status].length === 0
}

export const finalStatuses = paymentStatuses.filter((status) => isFinal(status))

/** The statuses in which a payment waits for its client, the cardholder or the provider. */
export const waitingStatuses = ['requires_capture', 'requires_action'] as const
export type WaitingStatus = (typeof waitingStatuses)[number]

/**
 * The status in which a payment waited before an operation started to work on it. When the previous
 * status is not a waiting one, the service has since learned that the money is held.
 */
export function waitingStatusBefore(
  previous: PaymentStatus | null,
): (typeof waitingStatuses)[number] {
  return previous === 'requires_action' ? previous : 'requires_capture'
}

export const captureMethods = ['automatic', 'manual'] as const
type CaptureMethod = (typeof captureMethods)[number]

/** The largest amount of a payment in any currency: see `amountMaxMinor`. */
export const AMOUNT_MAX_MINOR = 999_999_999_999

/** Stripe's reasons: https://docs.stripe.com/api/payment_intents/cancel */
export const cancelReasons = [
  'duplicate',
  'fraudulent',
  'requested_by_customer',
  'abandoned',
] as const
export type CancelReason = (typeof cancelReasons)[number]

/** Why a payment was canceled. Stripe itself cancels a hold that expired, for the last two. */
export const cancellationReasons = [...cancelReasons, 'automatic', 'expired'] as const
export type CancellationReason = (typeof cancellationReasons)[number]

/**
 * What the service still has to do about the end of a hold: announce it to the client, then look
 * whether the provider has released the money.
 */
export const expirySteps = ['announce', 'look', 'done'] as const

/** Whether the provider released the hold because it was not captured in time. */
export function hasExpired({ cancellationReason: reason }: Payment): boolean {
  return reason === 'automatic' || reason === 'expired'
}

/** Money that the provider holds. */
export interface Hold {
  /** When the provider releases it, unless it is captured; null when the provider does not say. */
  readonly captureBefore: Date | null
}

/** A payment that the provider has canceled: nothing is held any more. */
export interface Cancellation {
  /** Null when the provider says none, or one that no payment of ours can have. */
  readonly reason: CancellationReason | null
}

/** Why a payment was declined or failed, in the provider's words. */
export interface Failure {
  readonly code: string
  readonly declineCode: string | null
  readonly message: string
}

/** The request of a client to create a payment. */
export interface PaymentRequest {
  readonly amountMinor: number
  readonly currency: string
  readonly captureMethod: CaptureMethod
  readonly paymentMethod: string
  readonly customer: string | null
  readonly description: string | null
  /** The client's own name of what is paid. */
  readonly reference: string | null
  readonly metadata: Readonly<Record<string, string>>
  /** The customer is not there to authenticate: a payment that would need it is declined. */
  readonly offSession?: boolean
  /** Where a bank sends a customer back; by default the page of the settings. */
  readonly returnUrl?: string | null
}

export interface Payment extends PaymentRequest {
  readonly tenantId: string
  readonly id: string
  readonly amountCapturedMinor: number
  readonly amountRefundedMinor: number
  /** Reserved by refunds in progress. */
  readonly amountRefundingMinor: number
  readonly status: PaymentStatus
  readonly previousStatus: PaymentStatus | null
  /**
   * Why it was declined, or why its capture was refused. The latter stays until the hold is
   * released.
   */
  readonly failure: Failure | null
  /** Null unless the payment is canceled. */
  readonly cancellationReason: CancellationReason | null
  /** When the provider releases its hold, or would have; null when it held nothing, or did not say. */
  readonly captureBefore: Date | null
  readonly provider: string
  readonly providerPaymentId: string | null
  /** The client's page needs it to let the cardholder authenticate, while that is required. */
  readonly clientSecret: string | null
  readonly createdAt: Date
}

/**
 * A change of a payment by an operation. Absent members stay as they are, except `failure` and
 * `cancellationReason`, which are removed. A new member does not compile until
 * `changedValues` in src/db/payments/payments.ts has it.
 */
export interface PaymentChange {
  readonly status: PaymentStatus
  /**
   * Only `payment.adjust` changes the amount. All other operations rely on the amount at the time
   * of the intent: a capture captures it by default, and the Stripe adapter compares answers with
   * it (`isAbout`).
   */
  readonly amountMinor?: number
  readonly failure?: Failure
  readonly cancellationReason?: CancellationReason | null
  readonly captureBefore?: Date | null
  readonly providerPaymentId?: string | null
  readonly clientSecret?: string
  readonly amountCapturedMinor?: number
  /** The payment moves to another provider, with a payment method of it. */
  readonly provider?: string
  readonly paymentMethod?: string
}

/**
 * What an operation may store on a payment whose status it keeps. No change of a status writes it, so none
 * undoes it.
 */
export type PaymentNotes = Partial<
  Omit<
    Payment,
    | keyof PaymentChange
    | 'tenantId'
    | 'id'
    | 'previousStatus'
    | 'amountRefundedMinor'
    | 'amountRefundingMinor'
  >
>

/** A payment after a change, with the status before it. */
export type ChangedPayment = Payment & { readonly previousStatus: PaymentStatus }

export function paymentAfter(payment: Payment, change: PaymentChange): ChangedPayment {
  return {
    ...payment,
    status: change.status,
    previousStatus: payment.status,
    failure: change.failure ?? null,
    cancellationReason: change.cancellationReason ?? null,
    captureBefore: change.captureBefore ?? payment.captureBefore,
    providerPaymentId: change.providerPaymentId ?? payment.providerPaymentId,
    clientSecret: change.clientSecret ?? payment.clientSecret,
    amountMinor: change.amountMinor ?? payment.amountMinor,
    amountCapturedMinor: change.amountCapturedMinor ?? payment.amountCapturedMinor,
    provider: change.provider ?? payment.provider,
    paymentMethod: change.paymentMethod ?? payment.paymentMethod,
  }
}

/** A change of the status alone: also the refusal of a capture stays. */
export function withStatus({ failure }: Payment, status: PaymentStatus): PaymentChange {
  return failure === null ? { status } : { status, failure }
}

export const showPaymentId = (id: string): string => showId('pay', id)
export const parsePaymentId = (text: string): string | undefined => parseId('pay', text)

/** The refundable amount in minor units: captured, and neither refunded nor being refunded. */
export function amountLeftMinor(payment: Payment): number {
  const { amountCapturedMinor, amountRefundedMinor, amountRefundingMinor } = payment
  return amountCapturedMinor - amountRefundedMinor - amountRefundingMinor
}

/** As payments and refunds show it, and the `error` of a problem. */
export function presentFailure({ code, declineCode, message }: Failure): Record<string, unknown> {
  return { code, decline_code: declineCode, message }
}

/** The API path of a payment. */
export function paymentPath(id: string): string {
  return `/v1/payments/${showPaymentId(id)}`
}

/** Renders the payment for the API; amounts in minor units, times in ISO 8601. */
export function presentPayment(payment: Payment): Record<string, unknown> {
  const isToAct = payment.status === 'requires_action'
  return render(
    payment,
    isToAct ? { next_action: { type: 'authenticate', client_secret: payment.clientSecret } } : {},
  )
}

/** Renders the payment for operators, who need no secret. The secret is not even decrypted. */
export function presentPaymentWithoutSecret(payment: Payment): Record<string, unknown> {
  return render(payment, {})
}

function render(
  payment: Payment,
  nextAction: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
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
    reference: payment.reference,
    metadata: payment.metadata,
    ...nextAction,
    failure: payment.failure && presentFailure(payment.failure),
    cancellation_reason: payment.cancellationReason,
    capture_before: payment.captureBefore?.toISOString() ?? null,
    provider: { name: payment.provider, payment_id: payment.providerPaymentId },
    created_at: payment.createdAt.toISOString(),
  }
}

// The reference of a payment or refund is the client's own name of what is paid or returned, for example
// the number of an order. At most one payment of a tenant has it that can charge.

export const REFERENCE_LENGTH_MAX = 255

/**
 * The statuses of payments and refunds that have moved no money and hold none. They do not use up
 * their reference: another one may have it.
 */
export const statusesWithoutEffect = ['declined', 'canceled', 'failed'] as const

/** Visible ASCII without spaces: other text can look the same and differ in its bytes. */
export const REFERENCE = /^[\x21-\x7E]+$/

/**
 * What a refusal of the provider is about, in Stripe's types of errors: the card, the request, or the
 * merchant's account at the provider, which no client can mend.
 */
export const failureTypes = ['card_error', 'invalid_request_error', 'api_error'] as const

/** Stripe's codes for cards, and ours for an authorization that ended without a capture. */
const ABOUT_THE_CARD = new Set([
  'authentication_required',
  'canceled',
  'card_declined',
  'card_error',
  'expired_card',
  'incorrect_address',
  'incorrect_cvc',
  'incorrect_number',
  'incorrect_zip',
  'insufficient_funds',
  'invalid_cvc',
  'invalid_expiry_month',
  'invalid_expiry_year',
  'invalid_number',
  'payment_intent_authentication_failure',
  'processing_error',
])

/** Stripe names what the code is about first. */
const ABOUT_THE_REQUEST =
  /^(amount|capture_charge|charge|customer|payment_intent|payment_method|resource)_/

/** @see https://docs.stripe.com/error-codes */
export function failureTypeOf({ code, declineCode }: Failure): (typeof failureTypes)[number] {
  if (declineCode !== null || ABOUT_THE_CARD.has(code) || code.startsWith('card_')) {
    return 'card_error'
  }
  return ABOUT_THE_REQUEST.test(code) ? 'invalid_request_error' : 'api_error'
}
