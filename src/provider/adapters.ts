// The providers that the service knows. All that concerns each of them takes them from this list.
import type { z } from 'zod'
import { extras } from '../extras.ts'
import { UNDECLARED, type Capabilities } from './capabilities.ts'
import type { ProviderAdapter } from './provider-adapter.ts'
import { stripe, type stripeSettings } from './stripe/adapter.ts'

export const adapters: readonly ProviderAdapter[] = [stripe, ...extras.providers]

export const providerNames = adapters.map(({ name }) => name)

/** The settings of all. The core knows only those of its own provider by name. */
export const providerSettings = Object.fromEntries(
  adapters.flatMap(({ settings }) => Object.entries(settings)),
) as typeof stripeSettings

/** How their events are received. */
export const eventSources = adapters.flatMap(({ name, title, events }) =>
  events === undefined ? [] : { name, title, ...events },
)

export type EventSource = (typeof eventSources)[number]

type Settings = Readonly<Record<string, unknown>>

/** Whether all of these settings are set. */
export function areSet(settings: Settings, names: readonly string[]): boolean {
  return names.every((name) => settings[name] !== undefined)
}

/** The keys of a provider are set together. */
export function requireAllKeys(settings: Settings, context: z.RefinementCtx): void {
  for (const { keys } of adapters) {
    const [first, ...others] = keys
    const isNoneSet = keys.every((name) => settings[name] === undefined)
    if (isNoneSet || areSet(settings, keys)) continue
    const message = `needs ${others.join(' and ')}, and they need it`
    context.addIssue({ code: 'custom', path: [first], message })
  }
}

/** A provider that this version does not know can do nothing, and no call of it is repeated. */
export function capabilitiesOf(provider: string): Capabilities {
  return adapterOf(provider)?.capabilities ?? UNDECLARED
}

/** The same, where settings decide what a provider can do. */
export function capabilitiesBy(settings: Settings): (provider: string) => Capabilities {
  return (provider) => adapterOf(provider)?.capabilitiesBy?.(settings) ?? capabilitiesOf(provider)
}

const adapterOf = (provider: string) => adapters.find(({ name }) => name === provider)
