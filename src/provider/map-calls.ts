// Wraps every call of a provider, without a list of names that could be incomplete.
import type { ProviderCall, ProviderCalls } from './payment-provider.ts'

type AnyCall = ProviderCall<never, unknown>

/** Applies a function to each call, with the name of the call. */
export function mapCalls(
  calls: ProviderCalls,
  map: <Request, Value>(
    name: string,
    call: ProviderCall<Request, Value>,
  ) => ProviderCall<Request, Value>,
): ProviderCalls {
  const entries: [string, AnyCall][] = Object.entries(calls)
  const mapped = entries.map(([name, call]) => [name, map(name, call)])
  return Object.fromEntries(mapped) as ProviderCalls
}
