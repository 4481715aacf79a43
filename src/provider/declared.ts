// The name and the declaration of the provider that the wiring joins: data, for the API process and
// the schemas of its requests, which make no provider call.
import type { Capabilities } from './capabilities.ts'
import { stripeCapabilities } from './stripe/capabilities.ts'

export const PROVIDER_NAME = 'stripe'

export const declared: Capabilities = stripeCapabilities
