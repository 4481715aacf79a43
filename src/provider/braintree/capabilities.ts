// What Braintree promises and can do; docs/providers/braintree-facts.md has the sources.
import type { Capabilities } from '../capabilities.ts'

export const braintreeCapabilities = {
  /** Only its GraphQL API has keys, and its package does not use that for transactions. */
  keys: null,
  /** Its gateway waits up to 60 seconds for a processor. */
  settleSeconds: 60,
  /** An assumption: Braintree does not say when its search shows a transaction. */
  lookUpLagSeconds: 60 * 60,
  /** One capture of a part: the rest is not captured later. */
  partialCapture: true,
  /** Where the processor supports it; else an adjustment is declined. */
  incrementalAuthorization: true,
  void: true,
  /** A merchant account has one currency. */
  everyCurrency: false,
  /** The settlement of a refund can be declined. */
  refundsMayFail: true,
  /** A payer authenticates in the client, before there is a nonce. */
  authentication: false,
  /** Not documented: refusals are left to Braintree. */
  amounts: { chargeMinimaMinor: new Map(), steps: new Map() },
} satisfies Capabilities
