// The calls that move money at Stripe, each in a file of its own: the request under the provider key of
// its operation, what the answer proves, and the lookup when the answer was lost.
import type { CallName } from '../../calls.ts'
import { adjust } from './adjust.ts'
import { authorize } from './authorize.ts'
import type { StripeCall } from './call.ts'
import { cancel } from './cancel.ts'
import { capture } from './capture.ts'
import { refundPayment } from './refund.ts'

export const stripeCalls: { readonly [Name in CallName]?: StripeCall<Name> } = {
  authorize,
  capture,
  adjust,
  cancel,
  refund: refundPayment,
}

const READS = [
  'balance_transactions',
  'charges',
  'disputes',
  'payment_intents',
  'radar/early_fraud_warnings',
  'refunds',
]

/**
 * The rights that a restricted key needs, by the paths of the resources. A right to write includes that to
 * read.
 *
 * @see https://docs.stripe.com/keys#limit-access
 */
export const stripeRights: Readonly<Record<string, 'read' | 'write'>> = Object.fromEntries([
  ...READS.map((resource) => [resource, 'read'] as const),
  ...Object.values(stripeCalls).map(({ writes }) => [writes, 'write'] as const),
])
