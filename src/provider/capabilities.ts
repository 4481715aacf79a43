// What a provider promises and can do. Its adapter declares it as data. The service reads the
// declaration, never the name of the provider.
import type { AmountRules } from '../domain/payments/currency.ts'

/** How a provider treats idempotency keys. */
interface ProviderKeys {
  /** For how long it remembers a key at least, in seconds. */
  readonly keptSeconds: number
  /**
   * Whether it also keeps a failure under the key, and may complete the call later. Then no waiting
   * time proves that a call did not happen which nothing but its key guards.
   */
  readonly keepsFailures: boolean
}

/**
 * What a provider may be able to do, in the order in which operators see it: what that means, and how
 * a request is refused that needs it of a provider without it.
 */
export const abilities = {
  partialCapture: {
    means: 'Whether a capture may take less than what is held.',
    lack: 'The provider captures only the whole amount of a payment.',
  },
  incrementalAuthorization: {
    means: 'Whether the held amount can be changed.',
    lack: 'The provider does not change the amount of a hold.',
  },
  everyCurrency: {
    means:
      'Whether one account takes every currency. If not, a tenant has it for the currencies that are named.',
  },
  void: {
    means: 'Whether a hold can be released before it expires.',
    lack: 'The provider does not release a hold before it expires.',
  },
  refundsMayFail: { means: 'Whether a refund that succeeded can fail later.' },
  authentication: {
    means: 'Whether a payer can be asked to authenticate after the request.',
  },
} as const satisfies Readonly<Record<string, { means: string; lack?: string }>>

type AbilityName = keyof typeof abilities

/** An ability that a request can need. */
export type Ability = {
  [Name in AbilityName]: (typeof abilities)[Name] extends { lack: string } ? Name : never
}[AbilityName]

export interface Capabilities extends Readonly<Record<AbilityName, boolean>> {
  /** Null for a provider without idempotency keys: no call that may have run is repeated. */
  readonly keys: ProviderKeys | null
  /**
   * How long after our time limit it may still execute a call, in seconds. Null if it does not say:
   * then `PROVIDER_SETTLE_SECONDS` alone counts.
   */
  readonly settleSeconds: number | null
  /**
   * How long a lookup by our ids may miss a call that was executed, in seconds: 0 if it reads a
   * complete listing. Null if the provider stores no ids of ours: then no lookup proves that a call
   * was not executed.
   */
  readonly lookUpLagSeconds: number | null
  readonly amounts: AmountRules
}

/** Of a provider that is not known here: it may keep no keys, so none of its calls is repeated. */
export const UNDECLARED: Capabilities = {
  ...(Object.fromEntries(Object.keys(abilities).map((name) => [name, false])) as Readonly<
    Record<AbilityName, false>
  >),
  refundsMayFail: true,
  keys: null,
  settleSeconds: null,
  lookUpLagSeconds: null,
  amounts: { currencies: null, chargeMinimaMinor: new Map(), steps: new Map() },
}

/** What an adapter does not declare is presumed as for a provider that is not known. */
export function declareCapabilities<const Declared extends Partial<Capabilities>>(
  declared: Declared,
): Capabilities & Declared {
  return { ...UNDECLARED, ...declared }
}

interface KeySettings {
  readonly PROVIDER_KEY_WINDOW_SECONDS: number
}

/**
 * For how long after a call it may be repeated under its provider key, in seconds. 0: never, because
 * the provider keeps no keys. A setting can shorten what the adapter declares, but not extend it.
 */
export function keyWindowSeconds(
  { keys }: Pick<Capabilities, 'keys'>,
  { PROVIDER_KEY_WINDOW_SECONDS }: KeySettings,
): number {
  return Math.min(keys?.keptSeconds ?? 0, PROVIDER_KEY_WINDOW_SECONDS)
}

/** Whether the provider may keep a failure, and complete the call at any later time. */
export function keepsFailures(
  capabilities: Pick<Capabilities, 'keys'>,
  settings: KeySettings,
): boolean {
  return keyWindowSeconds(capabilities, settings) > 0 && capabilities.keys?.keepsFailures === true
}

/**
 * How long a call may still be executed after it ended without an answer, in seconds. A setting can
 * extend what the adapter declares, but not shorten it.
 */
export function settleSeconds(
  { settleSeconds: declared }: Pick<Capabilities, 'settleSeconds'>,
  { PROVIDER_SETTLE_SECONDS }: { readonly PROVIDER_SETTLE_SECONDS: number },
): number {
  return Math.max(declared ?? 0, PROVIDER_SETTLE_SECONDS)
}

/** The adapter compares the time by another clock than the schedule. */
const CLOCK_MARGIN_SECONDS = 60

/**
 * The times of the looks at an unknown outcome, in seconds: those of the setting, and for each provider
 * whose lookups lag the time at which one can prove absence for the first time.
 */
export function checkDelaysSeconds(
  all: readonly Pick<Capabilities, 'settleSeconds' | 'lookUpLagSeconds'>[],
  settings: {
    readonly CHECK_DELAYS_SECONDS: readonly number[]
    readonly PROVIDER_SETTLE_SECONDS: number
  },
): number[] {
  const lagging = all.filter(({ lookUpLagSeconds }) => (lookUpLagSeconds ?? 0) > 0)
  const first = lagging.map(
    (one) => settleSeconds(one, settings) + (one.lookUpLagSeconds ?? 0) + CLOCK_MARGIN_SECONDS,
  )
  return [...new Set([...settings.CHECK_DELAYS_SECONDS, ...first])].toSorted(
    (one, other) => one - other,
  )
}
