// The declaration with which a payment provider joins the service: a provider is a folder that has one,
// and a line in a list. All of it is data but for the functions that load the provider's package.
import type { z } from 'zod'
import type { ProviderEvent } from '../domain/events/provider-event.ts'
import type { Resolve } from '../names/resolver.ts'
import type { Capabilities } from './capabilities.ts'
import type { PaymentProvider } from './payment-provider.ts'
import type { ProviderClock } from './guards.ts'

/** What a process gives to each of its providers. */
interface ProviderParts {
  /** The time limit of a whole call, in milliseconds. */
  readonly timeoutMs: number
  /** Where a customer comes back who had to leave to authenticate. */
  readonly returnUrl: string | undefined
  /** How many reads it may send in a second; 0 means no limit. */
  readonly readsPerSecond: number
  readonly resolve: Resolve
  /** Notes the Date of each answer. */
  readonly clock: ProviderClock
  /** The provider has limited the rate of a request. */
  readonly limited: (limit: { readonly reason: string }) => void
}

/**
 * Verifies the signature of a body and parses it as an event of the provider. Throws ProblemError for
 * anything else, at once or as a rejection.
 */
export type EventReader = (
  body: Uint8Array,
  signature: string | undefined,
) => ProviderEvent | Promise<ProviderEvent>

/** The route to which a provider sends its events. */
interface EventsRoute {
  readonly path: `/provider/webhooks${string}`
  readonly operationId: string
  readonly description: string
  /** The header with the signature; undefined if the signature is in the body. */
  readonly signatureHeader?: { readonly name: string; readonly description: string }
  /** Of a form. JSON may have any members. */
  readonly form?: z.ZodObject
  readonly example: Readonly<Record<string, string>>
}

type Names<Name extends string> = readonly [Name, ...Name[]]

/** The settings as every process has them, with the keys, and with the secrets of the events. */
interface Declaration<Settings, Opened, Verified> {
  /** The name in payments, in settings and in routes of tenants. */
  readonly name: string
  /** The name for people. */
  readonly title: string
  /** The schemas of its settings, by the names of the variables. */
  readonly settings: z.ZodRawShape
  /** The settings without which a process does not have the provider. They are set together. */
  readonly keys: Names<string>
  /** Says what is missing when it is the provider of the service and has no keys. */
  readonly missingKeys: string
  /** The setting that names another server with its API. */
  readonly apiBase: string
  readonly capabilities: Capabilities
  /** The same, where settings decide. */
  capabilitiesBy?(settings: Settings): Capabilities
  /**
   * Loads and creates the provider.
   *
   * @throws ConfigError when a setting is missing that only it needs.
   */
  open(settings: Opened, parts: ProviderParts): Promise<PaymentProvider>
  /** Undefined for a provider that sends none. */
  readonly events?: {
    /** The settings without which its events cannot be verified. */
    readonly secrets: Names<string>
    readonly route: EventsRoute
    /** Loads and creates the reader of its events. */
    read(settings: Verified): Promise<EventReader>
  }
}

type AnySettings = Readonly<Record<string, unknown>>

/** A provider of which the core knows no setting by name. */
export type ProviderAdapter = Declaration<AnySettings, AnySettings, AnySettings>

type Values<Shape extends z.ZodRawShape> = {
  readonly [Name in keyof Shape]: z.output<Shape[Name]>
}

/** The settings, of which some are set. */
type With<Shape extends z.ZodRawShape, Name extends keyof Shape> = Values<Shape> & {
  readonly [Set in Name]: NonNullable<z.output<Shape[Set]>>
}

export function defineProvider<
  Shape extends z.ZodRawShape,
  Key extends keyof Shape & string,
  Secret extends keyof Shape & string,
>(
  declaration: Declaration<Values<Shape>, With<Shape, Key>, With<Shape, Secret>> & {
    readonly settings: Shape
    readonly keys: Names<Key>
    readonly events?: { readonly secrets: Names<Secret> }
  },
): ProviderAdapter {
  return declaration
}
