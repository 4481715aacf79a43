// The payments that the scenarios make.
import { AMOUNT_MINOR } from '../../test/operations/amount.ts'

const CARD = { amount: AMOUNT_MINOR, currency: 'usd', payment_method: 'pm_card_visa' }

export const AUTOMATIC = { ...CARD, capture_method: 'automatic' } as const
export const MANUAL = { ...CARD, capture_method: 'manual' } as const
/** The cardholder has to authenticate. */
export const SECURE = { ...AUTOMATIC, payment_method: 'pm_card_threeDSecureRequired' } as const
/** The provider refuses every capture, and goes on holding the money. */
export const UNCAPTURABLE = {
  ...AUTOMATIC,
  payment_method: 'pm_fault_capture_amount_too_large',
} as const
export const DECLINED = { ...AUTOMATIC, payment_method: 'pm_card_chargeDeclined' }
