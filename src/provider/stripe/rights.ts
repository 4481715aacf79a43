// The rights that a restricted key of Stripe needs (https://docs.stripe.com/keys#limit-access). Each call
// declares what it writes. The resources are named by their paths.
import { stripeCalls } from './calls/index.ts'

const READS = [
  'balance_transactions',
  'charges',
  'disputes',
  'payment_intents',
  'radar/early_fraud_warnings',
  'refunds',
]

/** A right to write includes that to read. */
export const stripeRights: Readonly<Record<string, 'read' | 'write'>> = Object.fromEntries([
  ...READS.map((resource) => [resource, 'read'] as const),
  ...Object.values(stripeCalls).map(({ writes }) => [writes, 'write'] as const),
])
