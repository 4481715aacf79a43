// Lists the payment methods of the stand-in and their outcomes. The cards are Stripe's test values
// with Stripe's codes (https://docs.stripe.com/testing). The methods named after a fault exist only
// in the stand-in.
import { faultNames, type FaultName } from '../faults/faults.ts'
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

/** Where a decline says more than that the card was declined, by its most specific code. */
const messages: Readonly<Record<string, string>> = {
  insufficient_funds: 'Your card has insufficient funds.',
  card_velocity_exceeded:
    'Your card was declined for making repeated attempts too frequently or exceeding its ' +
    'amount limit.',
  expired_card: 'Your card has expired.',
  incorrect_cvc: "Your card's security code is incorrect.",
  processing_error: 'An error occurred while processing your card. Try again in a little bit.',
}

function decline(code: string, declineCode?: string): Decline {
  const message = messages[declineCode ?? code] ?? 'Your card was declined.'
  return { kind: 'decline', code, message, ...(declineCode && { declineCode }) }
}

const declinedAs = (declineCode: string) => decline('card_declined', declineCode)
const genericDecline = declinedAs('generic_decline')
const insufficientFunds = declinedAs('insufficient_funds')

const fraudulent = { reason: 'fraudulent', status: 'needs_response' } as const
const notReceived = { reason: 'product_not_received', status: 'needs_response' } as const
const inquiry = { reason: 'fraudulent', status: 'warning_needs_response' } as const

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

function card(
  name: string,
  last4: string,
  outcome: PaymentMethod['outcome'],
  more: Omit<PaymentMethod, 'id' | 'last4' | 'outcome'> = {},
): PaymentMethod {
  return { id: `pm_card_${name}`, last4, outcome, ...more }
}

/** An id with `charge` may also be written with `visa_charge`, as Stripe writes some of them. */
export const paymentMethods: readonly PaymentMethod[] = [
  { id: 'pm_card_visa', outcome: approve },
  card('visa_debit', '5556', approve),
  card('mastercard', '4444', approve),
  card('mastercard_debit', '8210', approve),
  card('mastercard_prepaid', '5100', approve),
  card('amex', '8431', approve),
  card('discover', '1117', approve),
  card('diners', '0004', approve),
  card('jcb', '0505', approve),
  card('unionpay', '0005', approve),
  card('bypassPending', '0077', approve, { bypassesPending: true }),
  // With Stripe's default rules the risk and the failed checks refuse nothing.
  card('riskLevelElevated', '9235', approve),
  card('riskLevelHighest', '4954', approve),
  card('cvcCheckFail', '0101', approve),
  card('avsFail', '0010', approve),
  card('avsLine1Fail', '0028', approve),
  card('avsZipFail', '0036', approve),
  card('avsUnchecked', '0044', approve),
  card('pendingRefund', '7726', approve, { refund: { begins: 'pending', ends: 'succeeded' } }),
  card('refundFail', '5126', approve, { refund: { begins: 'succeeded', ends: 'failed' } }),

  card('chargeDeclined', '0002', genericDecline),
  card('chargeCustomerFail', '0341', genericDecline),
  card('createDispute', '0259', approve, { disputes: [fraudulent] }),
  card('createDisputeProductNotReceived', '2685', approve, { disputes: [notReceived] }),
  card('createDisputeInquiry', '1976', approve, { disputes: [inquiry] }),
  card('createMultipleDisputes', '0079', approve, { disputes: [fraudulent, notReceived] }),
  card('createIssuerFraudRecord', '5423', approve, { fraudWarning: true }),

  card('chargeDeclinedInsufficientFunds', '9995', insufficientFunds),
  card('chargeDeclinedLostCard', '9987', declinedAs('lost_card')),
  card('chargeDeclinedStolenCard', '9979', declinedAs('stolen_card')),
  card('chargeDeclinedFraudulent', '0019', declinedAs('fraudulent')),
  card('radarBlock', '0019', declinedAs('fraudulent')),
  card('chargeDeclinedVelocityLimitExceeded', '6975', declinedAs('card_velocity_exceeded')),
  card('chargeDeclinedExpiredCard', '0069', decline('expired_card')),
  card('chargeDeclinedIncorrectCvc', '0127', decline('incorrect_cvc')),
  card('chargeDeclinedProcessingError', '0119', decline('processing_error')),

  card('threeDSecure2Required', '3220', authenticate, { country: 'IE' }),
  card('threeDSecureRequired', '3063', authenticate),
  card('authenticationRequired', '3184', authenticate, { country: 'DE' }),
  card('authenticationRequiredOnSetup', '3155', authenticate, { country: 'FR' }),
  card('authenticationRequiredSetupForOffSession', '0446', authenticate, { country: 'IT' }),
  card(
    'authenticationRequiredChargeDeclinedInsufficientFunds',
    '3178',
    { kind: 'authenticate', afterwards: insufficientFunds },
    { country: 'GB' },
  ),
  card('threeDSecureRequiredChargeDeclined', '1629', {
    kind: 'authenticate',
    afterwards: genericDecline,
  }),
  card('threeDSecureRequiredProcessingError', '1280', genericDecline),
  card('threeDSecureOptional', '3055', approve),
  card('threeDSecureOptionalProcessingError', '3097', approve),
  card('amex_threeDSecureNotSupported', '0005', approve),

  { id: 'pm_fault_increment_declined', outcome: approve, increment: insufficientFunds },
  ...captureRefusals.map((capture) => ({
    id: `pm_fault_capture_${capture.code}`,
    outcome: approve,
    capture,
  })),
  ...faultNames.map((fault) => ({ id: `pm_fault_${fault}`, outcome: approve, fault })),
]

const byId = new Map(paymentMethods.map((method) => [method.id, method]))

/** Finds a method by any spelling of its id. The result has the spelling of the request. */
export function findPaymentMethod(id: string): PaymentMethod | undefined {
  const method = byId.get(id) ?? byId.get(id.replace('pm_card_visa_charge', 'pm_card_charge'))
  return method && { ...method, id }
}
