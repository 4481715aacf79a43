// Wires the payment providers from the settings: each with its guards, and the readers of their events.
import type { Logger } from 'pino'
import { ConfigError } from './config-error.ts'
import type { Config } from './config.ts'
import {
  readProviderClock,
  recordClocksApart,
  recordFirstAccount,
} from './db/operators/provider-accounts.ts'
import { type Engine, systemClock } from './engine/engine.ts'
import { createResolver, type Resolve } from './names/resolver.ts'
import { adapters, areSet, eventSources } from './provider/adapters.ts'
import { guardAccount } from './provider/guard-account.ts'
import { CLOCK_TOLERANCE_SECONDS, guardClock } from './provider/guard-clock.ts'
import { guardProvider } from './provider/guard-provider.ts'
import type { PaymentProvider } from './provider/payment-provider.ts'
import type { EventReader, ProviderAdapter } from './provider/provider-adapter.ts'
import { createProviderClock, type ProviderClock } from './provider/provider-clock.ts'
import { createProviders, type Providers } from './provider/providers.ts'

type Base = Pick<Engine, 'store' | 'observe' | 'log'>

/**
 * The providers whose keys are set.
 *
 * @throws ConfigError when the provider of the service has no key, or a setting is not true of one.
 */
export async function wireProviders(config: Config, base: Base): Promise<Providers> {
  const clocks = new Map<string, ProviderClock>()
  const bare = await wireBareProviders(config, {
    limited(provider, limit) {
      base.observe.limitedByProvider(provider, limit.reason)
      base.log.warn({ provider, ...limit }, 'the provider limits the rate of requests')
    },
    clockOf(provider) {
      const clock = watchClock(provider, base)
      clocks.set(provider, clock)
      return clock
    },
  })
  const missing = adapters.find(
    ({ name, keys }) => name === config.PROVIDER && !areSet(config, keys),
  )
  if (missing !== undefined) throw new ConfigError(missing.missingKeys)
  const open = new Set<string>()
  return createProviders(
    bare.map((provider) =>
      guard(keepTime(provider, clocks, base), config, base, (isOpen) => {
        if (isOpen) open.add(provider.name)
        else open.delete(provider.name)
        base.observe.turnedProvider(open.size > 0)
      }),
    ),
  )
}

interface Watchers {
  readonly limited: (provider: string, limit: { readonly reason: string }) => void
  readonly clockOf: (provider: string) => ProviderClock
}

/** The providers without their guards: for a look at the accounts that records and limits nothing. */
export async function wireBareProviders(
  config: Config,
  watchers: Watchers = { limited: () => {}, clockOf: () => createProviderClock() },
): Promise<PaymentProvider[]> {
  const used = adapters.filter(({ keys }) => areSet(config, keys))
  return await Promise.all(used.map((adapter) => openProvider(adapter, config, watchers)))
}

async function openProvider(
  adapter: ProviderAdapter,
  config: Config,
  { limited, clockOf }: Watchers,
): Promise<PaymentProvider> {
  const { name } = adapter
  return await adapter.open(config, {
    timeoutMs: config.PROVIDER_TIMEOUT_MS,
    returnUrl: config.PAYMENT_RETURN_URL,
    readsPerSecond: config.PROVIDER_READS_PER_SECOND,
    resolve: wireNames(config),
    clock: clockOf(name),
    limited: (limit) => limited(name, limit),
  })
}

function guard(
  provider: PaymentProvider,
  { PROVIDER_BREAKER_FAILURES: failures, BREAKER_OPEN_MS: openMs }: Config,
  { store: { sql }, log }: Base,
  turned: (isOpen: boolean) => void,
): PaymentProvider {
  const { name } = provider
  const guarded = guardAccount(provider, {
    recordFirst: (account) => recordFirstAccount(sql, name, account),
    refused: (error) =>
      log.error({ err: error, provider: name }, 'no call is made to the provider'),
    unchecked: () => warnUnchecked(log, name),
  })
  return guardProvider(guarded, { failures, openMs }, turned)
}

const APART = "the clocks are apart from the provider's: look-ups prove no absence"

/** Compares the clock of this process with that of the provider, at each of its answers. */
function watchClock(name: string, { store: { sql }, observe, log }: Base): ProviderClock {
  let isApart = false
  const clock = createProviderClock(() => {
    const theirMs = clock.nowMs()
    if (theirMs === undefined) return
    const seconds = Math.round(Math.abs(Date.now() - theirMs) / 1_000)
    observe.comparedClocks(name, seconds)
    const wasApart = isApart
    isApart = seconds > CLOCK_TOLERANCE_SECONDS
    if (!isApart || wasApart) return
    log.error({ provider: name, seconds }, APART)
    recordClocksApart(sql, name, seconds).catch((error: unknown) =>
      log.error({ err: error, provider: name }, 'the difference of the clocks is not recorded'),
    )
  })
  return clock
}

function keepTime(
  provider: PaymentProvider,
  clocks: ReadonlyMap<string, ProviderClock>,
  { store: { sql }, log }: Base,
): PaymentProvider {
  const { name } = provider
  const clock = clocks.get(name)
  if (clock === undefined) return provider
  return guardClock(provider, {
    clock,
    readDatabaseClock: () => readProviderClock(sql, name),
    async apart(seconds) {
      log.error({ provider: name, seconds }, APART)
      await recordClocksApart(sql, name, seconds)
    },
  })
}

function warnUnchecked(log: Logger, provider: string): void {
  log.warn({ provider }, 'the key may not read its account, so the account is not checked')
}

/** The readers of the events of each provider whose secrets are set. */
export async function wireEventReaders(config: Config): Promise<ReadonlyMap<string, EventReader>> {
  const used = eventSources.filter(({ secrets }) => areSet(config, secrets))
  return new Map(
    await Promise.all(
      used.map(async (source) => [source.name, await source.read(config)] as const),
    ),
  )
}

/** One for each purpose, so that no tenant's names delay those of a provider. */
export function wireNames({ DNS_SERVERS: servers, DNS_TIMEOUT_MS: timeoutMs }: Config): Resolve {
  return createResolver({ timeoutMs, servers, monotonicMs: () => systemClock.monotonicMs() })
}
