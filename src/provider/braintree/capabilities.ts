// What Braintree promises and can do; docs/providers/braintree-facts.md has the sources.
import type { Capabilities } from '../capabilities.ts'
import { braintreeCurrencies, braintreeSteps } from './currencies.ts'

export const braintreeCapabilities = {
  /** Only some accounts have keys: see `braintreeCapabilitiesWithKeys`. */
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
  /** A minimum is not documented: such refusals are left to Braintree. */
  amounts: {
    currencies: braintreeCurrencies,
    chargeMinimaMinor: new Map(),
    steps: braintreeSteps,
  },
} satisfies Capabilities

/**
 * Of an account with at-most-once processing. The key of a call that failed stays used (915234), and
 * the call is not completed later. An adjustment has no key: it sets a total, so that a repetition
 * finds nothing to change (95606), which a look-up explains.
 */
export const braintreeCapabilitiesWithKeys = {
  ...braintreeCapabilities,
  keys: { keptSeconds: 30 * 24 * 60 * 60, keepsFailures: false },
} satisfies Capabilities
