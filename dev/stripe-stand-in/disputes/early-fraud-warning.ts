// Defines an early fraud warning (https://docs.stripe.com/api/radar/early_fraud_warnings/object).
import type Stripe from 'stripe'

export interface EarlyFraudWarning extends Stripe.Radar.EarlyFraudWarning {
  charge: string
  payment_intent: string
}
