// The providers that the wiring knows, and what each declares: data, for the API process and the
// schemas of its requests, which make no provider call.
import { braintreeCapabilities, braintreeCapabilitiesWithKeys } from './braintree/capabilities.ts'
import { UNDECLARED, type Capabilities } from './capabilities.ts'
import { stripeCapabilities } from './stripe/capabilities.ts'

const declared = new Map<string, Capabilities>([
  ['stripe', stripeCapabilities],
  ['braintree', braintreeCapabilities],
])

export const providerNames: readonly string[] = [...declared.keys()]

/** A provider that this version does not know can do nothing, and no call of it is repeated. */
export function capabilitiesOf(provider: string): Capabilities {
  return declared.get(provider) ?? UNDECLARED
}

/** The same, of an account of Braintree that has keys if the setting says so. */
export function capabilitiesBy(settings: {
  readonly BRAINTREE_REQUEST_KEYS: boolean
}): (provider: string) => Capabilities {
  if (!settings.BRAINTREE_REQUEST_KEYS) return capabilitiesOf
  return (provider) =>
    provider === 'braintree' ? braintreeCapabilitiesWithKeys : capabilitiesOf(provider)
}
