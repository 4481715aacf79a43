// Lists the payment methods of the stand-in and their outcomes. The cards are Stripe's test values
// with Stripe's codes (https://docs.stripe.com/testing). The methods named after a fault exist only
// in the stand-in.
import type { FaultName } from '../faults/faults.ts'
import type { RefundStatus } from '../refunds/refund-status.ts'
import { HOLD_ENDED } from '../requests/stripe-errors.ts'

type PaymentOutcome =
  | { kind: 'approve' }
  /** The cardholder must pass 3-D Secure first. The bank may decline afterwards. */
  | { kind: 'authenticate'; afterwards?: Decline }
  | Decline

export interface Decline {
  kind: 'decline'
  code: string
  declineCode?: string
  message: string
}

/** Refuses captures with a code of https://docs.stripe.com/error-codes. */
export interface CaptureRefusal {
  code: string
  message: string
  /** What becomes of the intent. `captured`: another client captures it first. */
  leaves: 'held' | 'expired' | 'captured'
  /** Refuses only smaller amounts, in minor units. */
  below?: number
}

export interface PaymentMethod {
  id: string
  /** The last digits of the card, and its country. By default 4242, of the US. */
  last4?: string
  country?: string
  outcome: PaymentOutcome
  /** Declines every incremental authorization. */
  increment?: Decline
  /** How a refund begins and, a few seconds later, ends. By default it succeeds at once. */
  refund?: { begins: RefundStatus; ends: RefundStatus }
  capture?: CaptureRefusal
  /** Its money is on the available balance at once. */
  bypassesPending?: true
  /** The cardholder disputes the capture, once for each of these; here at once. */
  disputes?: readonly { reason: string; status: 'needs_response' | 'warning_needs_response' }[]
  /** The bank warns of fraud after the capture. */
  fraudWarning?: true
  /** Injected into the first request of each idempotency key that pays with this method. */
  fault?: FaultName
}

const approve: PaymentOutcome = { kind: 'approve' }
const authenticate: PaymentOutcome = { kind: 'authenticate' }

function decline(code: string, declineCode?: string, message = 'Your card was declined.'): Decline {
  return { kind: 'decline', code, message, ...(declineCode && { declineCode }) }
}

const genericDecline = decline('card_declined', 'generic_decline')

const insufficientFunds = decline(
  'card_declined',
  'insufficient_funds',
  'Your card has insufficient funds.',
)

/** Stripe's other reasons to refuse a capture need its own rules of amounts. */
const captureRefusals: readonly CaptureRefusal[] = [
  {
    code: 'amount_too_small',
    message: 'The specified amount is less than the minimum amount allowed.',
    leaves: 'held',
    below: 1_000,
  },
  {
    code: 'amount_too_large',
    message: 'The specified amount is greater than the maximum amount allowed.',
    leaves: 'held',
  },
  { code: 'charge_expired_for_capture', message: HOLD_ENDED, leaves: 'expired' },
  { code: 'capture_charge_authorization_expired', message: HOLD_ENDED, leaves: 'expired' },
  {
    code: 'charge_already_captured',
    message: 'The charge you are attempting to capture has already been captured.',
    leaves: 'captured',
  },
]

/** An id with `charge` may also be written with `visa_charge`, as Stripe writes some of them. */
export const paymentMethods: readonly PaymentMethod[] = [
  { id: 'pm_card_visa', outcome: approve },
  { id: 'pm_card_visa_debit', last4: '5556', outcome: approve },
  { id: 'pm_card_mastercard', last4: '4444', outcome: approve },
  { id: 'pm_card_mastercard_debit', last4: '8210', outcome: approve },
  { id: 'pm_card_mastercard_prepaid', last4: '5100', outcome: approve },
  { id: 'pm_card_amex', last4: '8431', outcome: approve },
  { id: 'pm_card_discover', last4: '1117', outcome: approve },
  { id: 'pm_card_diners', last4: '0004', outcome: approve },
  { id: 'pm_card_jcb', last4: '0505', outcome: approve },
  { id: 'pm_card_unionpay', last4: '0005', outcome: approve },
  { id: 'pm_card_bypassPending', last4: '0077', outcome: approve, bypassesPending: true },
  // With Stripe's default rules the risk and the failed checks refuse nothing.
  { id: 'pm_card_riskLevelElevated', last4: '9235', outcome: approve },
  { id: 'pm_card_riskLevelHighest', last4: '4954', outcome: approve },
  { id: 'pm_card_cvcCheckFail', last4: '0101', outcome: approve },
  { id: 'pm_card_avsFail', last4: '0010', outcome: approve },
  { id: 'pm_card_avsLine1Fail', last4: '0028', outcome: approve },
  { id: 'pm_card_avsZipFail', last4: '0036', outcome: approve },
  { id: 'pm_card_avsUnchecked', last4: '0044', outcome: approve },
  {
    id: 'pm_card_pendingRefund',
    last4: '7726',
    outcome: approve,
    refund: { begins: 'pending', ends: 'succeeded' },
  },
  {
    id: 'pm_card_refundFail',
    last4: '5126',
    outcome: approve,
    refund: { begins: 'succeeded', ends: 'failed' },
  },

  { id: 'pm_card_chargeDeclined', last4: '0002', outcome: genericDecline },
  { id: 'pm_card_chargeCustomerFail', last4: '0341', outcome: genericDecline },
  {
    id: 'pm_card_createDispute',
    last4: '0259',
    outcome: approve,
    disputes: [{ reason: 'fraudulent', status: 'needs_response' }],
  },
  {
    id: 'pm_card_createDisputeProductNotReceived',
    last4: '2685',
    outcome: approve,
    disputes: [{ reason: 'product_not_received', status: 'needs_response' }],
  },
  {
    id: 'pm_card_createDisputeInquiry',
    last4: '1976',
    outcome: approve,
    disputes: [{ reason: 'fraudulent', status: 'warning_needs_response' }],
  },
  {
    id: 'pm_card_createMultipleDisputes',
    last4: '0079',
    outcome: approve,
    disputes: [
      { reason: 'fraudulent', status: 'needs_response' },
      { reason: 'product_not_received', status: 'needs_response' },
    ],
  },
  { id: 'pm_card_createIssuerFraudRecord', last4: '5423', outcome: approve, fraudWarning: true },

  {
    id: 'pm_card_chargeDeclinedInsufficientFunds',
    last4: '9995',
    outcome: insufficientFunds,
  },
  {
    id: 'pm_card_chargeDeclinedLostCard',
    last4: '9987',
    outcome: decline('card_declined', 'lost_card'),
  },
  {
    id: 'pm_card_chargeDeclinedStolenCard',
    last4: '9979',
    outcome: decline('card_declined', 'stolen_card'),
  },
  {
    id: 'pm_card_chargeDeclinedFraudulent',
    last4: '0019',
    outcome: decline('card_declined', 'fraudulent'),
  },
  { id: 'pm_card_radarBlock', last4: '0019', outcome: decline('card_declined', 'fraudulent') },
  {
    id: 'pm_card_chargeDeclinedVelocityLimitExceeded',
    last4: '6975',
    outcome: decline(
      'card_declined',
      'card_velocity_exceeded',
      'Your card was declined for making repeated attempts too frequently or exceeding its ' +
        'amount limit.',
    ),
  },
  {
    id: 'pm_card_chargeDeclinedExpiredCard',
    last4: '0069',
    outcome: decline('expired_card', undefined, 'Your card has expired.'),
  },
  {
    id: 'pm_card_chargeDeclinedIncorrectCvc',
    last4: '0127',
    outcome: decline('incorrect_cvc', undefined, "Your card's security code is incorrect."),
  },
  {
    id: 'pm_card_chargeDeclinedProcessingError',
    last4: '0119',
    outcome: decline(
      'processing_error',
      undefined,
      'An error occurred while processing your card. Try again in a little bit.',
    ),
  },

  { id: 'pm_card_threeDSecure2Required', last4: '3220', country: 'IE', outcome: authenticate },
  { id: 'pm_card_threeDSecureRequired', last4: '3063', outcome: authenticate },
  { id: 'pm_card_authenticationRequired', last4: '3184', country: 'DE', outcome: authenticate },
  {
    id: 'pm_card_authenticationRequiredOnSetup',
    last4: '3155',
    country: 'FR',
    outcome: authenticate,
  },
  {
    id: 'pm_card_authenticationRequiredSetupForOffSession',
    last4: '0446',
    country: 'IT',
    outcome: authenticate,
  },
  {
    id: 'pm_card_authenticationRequiredChargeDeclinedInsufficientFunds',
    last4: '3178',
    country: 'GB',
    outcome: { kind: 'authenticate', afterwards: insufficientFunds },
  },
  {
    id: 'pm_card_threeDSecureRequiredChargeDeclined',
    last4: '1629',
    outcome: { kind: 'authenticate', afterwards: genericDecline },
  },
  { id: 'pm_card_threeDSecureRequiredProcessingError', last4: '1280', outcome: genericDecline },
  { id: 'pm_card_threeDSecureOptional', last4: '3055', outcome: approve },
  { id: 'pm_card_threeDSecureOptionalProcessingError', last4: '3097', outcome: approve },
  { id: 'pm_card_amex_threeDSecureNotSupported', last4: '0005', outcome: approve },

  {
    id: 'pm_fault_increment_declined',
    outcome: approve,
    increment: insufficientFunds,
  },
  ...captureRefusals.map((capture) => ({
    id: `pm_fault_capture_${capture.code}`,
    outcome: approve,
    capture,
  })),
  { id: 'pm_fault_refuse', outcome: approve, fault: 'refuse' },
  { id: 'pm_fault_reset_before', outcome: approve, fault: 'reset_before' },
  { id: 'pm_fault_reset_after', outcome: approve, fault: 'reset_after' },
  { id: 'pm_fault_hang_before', outcome: approve, fault: 'hang_before' },
  { id: 'pm_fault_hang_after', outcome: approve, fault: 'hang_after' },
  { id: 'pm_fault_error_500_before', outcome: approve, fault: 'error_500_before' },
  { id: 'pm_fault_error_500_after', outcome: approve, fault: 'error_500_after' },
  { id: 'pm_fault_reset_late', outcome: approve, fault: 'reset_late' },
  { id: 'pm_fault_hang_late', outcome: approve, fault: 'hang_late' },
  { id: 'pm_fault_error_500_late', outcome: approve, fault: 'error_500_late' },
  { id: 'pm_fault_error_500_early', outcome: approve, fault: 'error_500_early' },
  { id: 'pm_fault_error_500_final', outcome: approve, fault: 'error_500_final' },
  { id: 'pm_fault_unavailable', outcome: approve, fault: 'unavailable' },
  { id: 'pm_fault_rate_limited', outcome: approve, fault: 'rate_limited' },
  { id: 'pm_fault_lock_timeout', outcome: approve, fault: 'lock_timeout' },
  { id: 'pm_fault_conflict', outcome: approve, fault: 'conflict' },
  { id: 'pm_fault_truncated_body', outcome: approve, fault: 'truncated_body' },
  { id: 'pm_fault_nonsense_body', outcome: approve, fault: 'nonsense_body' },
  { id: 'pm_fault_wrong_amount', outcome: approve, fault: 'wrong_amount' },
  { id: 'pm_fault_delay', outcome: approve, fault: 'delay' },
  { id: 'pm_fault_slow_drip', outcome: approve, fault: 'slow_drip' },
]

const byId = new Map(paymentMethods.map((method) => [method.id, method]))

/** Finds a method by any spelling of its id. The result has the spelling of the request. */
export function findPaymentMethod(id: string): PaymentMethod | undefined {
  const method = byId.get(id) ?? byId.get(id.replace('pm_card_visa_charge', 'pm_card_charge'))
  return method && { ...method, id }
}
