// Wires the payment providers from the settings: each with its guards, and the readers of their events.
import type { Logger } from 'pino'
import { ConfigError, type Config } from './config.ts'
import {
  readProviderClock,
  recordClocksApart,
  recordFirstAccount,
} from './db/operators/provider-accounts.ts'
import { type Engine, systemClock } from './engine/engine.ts'
import type { EventReader } from './http/endpoint.ts'
import { createResolver, type Resolve } from './names/resolver.ts'
import { guardAccount } from './provider/guard-account.ts'
import { CLOCK_TOLERANCE_SECONDS, guardClock } from './provider/guard-clock.ts'
import { guardProvider } from './provider/guard-provider.ts'
import type { PaymentProvider } from './provider/payment-provider.ts'
import { createProviderClock, type ProviderClock } from './provider/provider-clock.ts'
import { createProviders, type Providers } from './provider/providers.ts'
import { createStripeProvider } from './provider/stripe/stripe-provider.ts'
import { createStripeEventReader } from './provider/stripe/webhooks.ts'

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
  if (!bare.some(({ name }) => name === config.PROVIDER)) {
    throw new ConfigError(MISSING_KEY[config.PROVIDER])
  }
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

const MISSING_KEY = {
  stripe: 'STRIPE_SECRET_KEY is not set; `npm start` starts a Stripe stand-in',
  braintree: 'PROVIDER is braintree, but BRAINTREE_MERCHANT_ID is not set',
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
  return [wireStripe(config, watchers), await wireBraintree(config, watchers)].filter(
    (provider) => provider !== undefined,
  )
}

function wireStripe(config: Config, { limited, clockOf }: Watchers): PaymentProvider | undefined {
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_API_BASE: apiBase } = config
  if (secretKey === undefined) return undefined
  return createStripeProvider({
    secretKey,
    apiBase,
    timeoutMs: config.PROVIDER_TIMEOUT_MS,
    ...(config.PAYMENT_RETURN_URL && { returnUrl: config.PAYMENT_RETURN_URL }),
    resolve: wireNames(config),
    clock: clockOf('stripe'),
    readsPerSecond: config.PROVIDER_READS_PER_SECOND,
    rateLimited: (limit) => limited('stripe', limit),
  })
}

/** Its package is loaded only when it is used, as each process starts faster without it. */
async function wireBraintree(
  config: Config,
  { clockOf }: Watchers,
): Promise<PaymentProvider | undefined> {
  const keys = braintreeKeys(config)
  if (keys === undefined) return undefined
  if (config.BRAINTREE_MERCHANT_ACCOUNTS === undefined) {
    throw new ConfigError('BRAINTREE_MERCHANT_ACCOUNTS is not set, such as eur=acme_eur')
  }
  const { createBraintreeProvider } = await import('./provider/braintree/braintree-provider.ts')
  return createBraintreeProvider({
    ...keys,
    environment: config.BRAINTREE_ENVIRONMENT,
    merchantAccounts: config.BRAINTREE_MERCHANT_ACCOUNTS,
    sendsKeys: config.BRAINTREE_REQUEST_KEYS,
    apiBase: config.BRAINTREE_API_BASE,
    timeoutMs: config.PROVIDER_TIMEOUT_MS,
    resolve: wireNames(config),
    clock: clockOf('braintree'),
  })
}

function braintreeKeys({
  BRAINTREE_MERCHANT_ID: merchantId,
  BRAINTREE_PUBLIC_KEY: publicKey,
  BRAINTREE_PRIVATE_KEY: privateKey,
}: Config) {
  if (merchantId === undefined || publicKey === undefined || privateKey === undefined) {
    return undefined
  }
  return { merchantId, publicKey, privateKey }
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

/** The readers of the events of each provider whose secret is set. */
export async function wireEventReaders(config: Config): Promise<ReadonlyMap<string, EventReader>> {
  const { STRIPE_WEBHOOK_SECRET: secret } = config
  const keys = braintreeKeys(config)
  const readers = new Map<string, EventReader>()
  if (secret !== undefined) {
    readers.set('stripe', createStripeEventReader({ secret, now: Date.now }))
  }
  if (keys !== undefined) {
    const { createBraintreeEventReader } = await import('./provider/braintree/webhooks.ts')
    readers.set('braintree', createBraintreeEventReader({ ...keys, now: Date.now }))
  }
  return readers
}

/** One for each purpose, so that no tenant's names delay those of a provider. */
export function wireNames({ DNS_SERVERS: servers, DNS_TIMEOUT_MS: timeoutMs }: Config): Resolve {
  return createResolver({ timeoutMs, servers, monotonicMs: () => systemClock.monotonicMs() })
}
