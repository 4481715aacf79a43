// Wires the payment providers from the settings: each with its guards, and the readers of their events.
import type { Logger } from 'pino'
import { ConfigError, type Config } from './config.ts'
import { recordFirstAccount } from './db/operators/provider-accounts.ts'
import { systemClock } from './engine/clock.ts'
import type { Engine } from './engine/engine.ts'
import type { EventReader } from './http/endpoint.ts'
import { createResolver, type Resolve } from './names/resolver.ts'
import { createBraintreeProvider } from './provider/braintree/braintree-provider.ts'
import { createBraintreeEventReader } from './provider/braintree/webhooks.ts'
import { guardAccount } from './provider/guard-account.ts'
import { guardProvider } from './provider/guard-provider.ts'
import type { PaymentProvider } from './provider/payment-provider.ts'
import { createProviders, type Providers } from './provider/providers.ts'
import { createStripeProvider } from './provider/stripe/stripe-provider.ts'
import { createStripeEventReader } from './provider/stripe/webhooks.ts'

type Base = Pick<Engine, 'store' | 'observe' | 'log'>

/**
 * The providers whose keys are set.
 *
 * @throws ConfigError when the provider of the service has no key, or a setting is not true of one.
 */
export function wireProviders(config: Config, base: Base): Providers {
  const bare = wireBareProviders(config, (provider, limit) => {
    base.observe.limitedByProvider(provider, limit.reason)
    base.log.warn({ provider, ...limit }, 'the provider limits the rate of requests')
  })
  if (!bare.some(({ name }) => name === config.PROVIDER)) {
    throw new ConfigError(MISSING_KEY[config.PROVIDER])
  }
  const open = new Set<string>()
  return createProviders(
    bare.map((provider) =>
      guard(provider, config, base, (isOpen) => {
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

type LimitWatcher = (provider: string, limit: { readonly reason: string }) => void

/** The providers without their guards: for a look at the accounts that records and limits nothing. */
export function wireBareProviders(
  config: Config,
  limited: LimitWatcher = () => {},
): PaymentProvider[] {
  return [wireStripe(config, limited), wireBraintree(config)].filter(
    (provider) => provider !== undefined,
  )
}

function wireStripe(config: Config, limited: LimitWatcher): PaymentProvider | undefined {
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_API_BASE: apiBase } = config
  if (secretKey === undefined) return undefined
  // Stripe keeps failures under its keys, and may complete a call that a look-up did not find.
  if (config.PROVIDER_KEY_WINDOW_SECONDS === 0 && apiBase === undefined) {
    throw new ConfigError('PROVIDER_KEY_WINDOW_SECONDS=0 is not true of Stripe: it keeps its keys')
  }
  return createStripeProvider({
    secretKey,
    apiBase,
    timeoutMs: config.PROVIDER_TIMEOUT_MS,
    resolve: wireNames(config),
    readsPerSecond: config.PROVIDER_READS_PER_SECOND,
    rateLimited: (limit) => limited('stripe', limit),
  })
}

function wireBraintree(config: Config): PaymentProvider | undefined {
  const keys = braintreeKeys(config)
  if (keys === undefined) return undefined
  if (config.BRAINTREE_MERCHANT_ACCOUNTS === undefined) {
    throw new ConfigError('BRAINTREE_MERCHANT_ACCOUNTS is not set, such as eur=acme_eur')
  }
  return createBraintreeProvider({
    ...keys,
    environment: config.BRAINTREE_ENVIRONMENT,
    merchantAccounts: config.BRAINTREE_MERCHANT_ACCOUNTS,
    apiBase: config.BRAINTREE_API_BASE,
    timeoutMs: config.PROVIDER_TIMEOUT_MS,
    resolve: wireNames(config),
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

function warnUnchecked(log: Logger, provider: string): void {
  log.warn({ provider }, 'the key may not read its account, so the account is not checked')
}

/** The readers of the events of each provider whose secret is set. */
export function wireEventReaders(config: Config): ReadonlyMap<string, EventReader> {
  const { STRIPE_WEBHOOK_SECRET: secret } = config
  const keys = braintreeKeys(config)
  const readers = new Map<string, EventReader>()
  if (secret !== undefined) {
    readers.set('stripe', createStripeEventReader({ secret, now: Date.now }))
  }
  if (keys !== undefined) readers.set('braintree', createBraintreeEventReader(keys))
  return readers
}

/** One for each purpose, so that no tenant's names delay those of a provider. */
export function wireNames({ DNS_SERVERS: servers, DNS_TIMEOUT_MS: timeoutMs }: Config): Resolve {
  return createResolver({ timeoutMs, servers, monotonicMs: () => systemClock.monotonicMs() })
}
