// The payments that the scenarios make.
import { AMOUNT_MINOR } from '../../test/operations/amount.ts'
import type { Merchant } from './merchant.ts'

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

/** Makes such a payment, which a scenario works on, and returns its id. */
export const paid =
  (body: Parameters<Merchant['pay']>[0]) =>
  async (merchant: Merchant): Promise<string> =>
    (await merchant.pay(body)).resource.id ?? ''

/** The requests that create a payment, for the faults that the provider has for them. */
export const CREATION = { method: 'POST', path: '/v1/payment_intents' } as const
