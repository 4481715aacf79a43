// Defines a payment method that the stand-in stores, and creates one of a test token.
import type Stripe from 'stripe'
import { newId } from '../ids.ts'
import { cardMethod } from './card-method.ts'

export interface SavedMethod extends Stripe.PaymentMethod {
  /** The customer to which it is attached. */
  customer: string | null
  /** Only the stand-in has these two: which test card it is, and whether it has paid unattached. */
  metadata: { test_card: string; used?: 'true' }
}

/** A test token stands for a new payment method each time. */
export function newSavedMethod(token: string, nowMs: number): SavedMethod {
  const method = cardMethod(newId('pm'), Math.floor(nowMs / 1000))
  return { ...method, metadata: { test_card: token } }
}
