// Wires the concrete parts together: the store, the clock, and the providers with their guards. No other
// file chooses them.
import type { Logger } from 'pino'
import { openAnswers } from './answers/open-answers.ts'
import { ConfigError } from './config-formats.ts'
import type { Config } from './config.ts'
import { batchClaims } from './db/operations/leases.ts'
import { batchRecords } from './db/operations/record-phases.ts'
import { createCounts } from './domain/tenants/tenant-counts.ts'
import { openStore, type Store } from './db/connection/client.ts'
import { createEncryption, useEncryption } from './encryption/encryption.ts'
import { createApiKeyCache } from './http/server/api-key-cache.ts'
import { createJobWaker, createIdleAnnouncer } from './db/connection/notifications.ts'
import { PROVIDER_EVENTS_QUEUE } from './db/queue/jobs.ts'
import { batchLookUps, batchReservations } from './db/idempotency/intents.ts'
import type { ApiLimits, ApiParts } from './http/endpoint.ts'
import { createInvalidKeysLimit } from './http/limits/invalid-keys.ts'
import { activeKeys, createKeysLimit, storedKeys } from './http/limits/keys-limit.ts'
import { createRateLimiter, createSharedCount } from './http/limits/rate-limit.ts'
import { createStoreBreaker } from './http/limits/store-breaker.ts'
import { countActiveKeys, countStoredKeys } from './db/idempotency/idempotency-keys.ts'
import { createSlots } from './http/limits/concurrency.ts'
import { silentApiObserver, type ApiObserver } from './http/observer.ts'
import { createLiveFeed } from './http/console/live-feed.ts'
import { createRecentKeys } from './http/keyed/recent-keys.ts'
import { createReplayCounter } from './http/keyed/replay-counter.ts'
import { startIdleWatch } from './http/keyed/idle-watch.ts'
import { CANCEL_KEY } from './domain/idempotency/idempotency-key.ts'
import { localOperations } from './domain/operations/operation.ts'
import { type Engine, systemClock } from './engine/engine.ts'
import { silentObserver, type EngineObserver } from './engine/observer.ts'
import { operations } from './operations/index.ts'
import { createOverviewReader } from './http/operators/overview-figures.ts'
import {
  readProviderClock,
  recordClocksApart,
  recordFirstAccount,
} from './db/operators/provider-accounts.ts'
import { createResolver, type Resolve } from './names/resolver.ts'
import { checkDelaysSeconds } from './provider/capabilities.ts'
import { adapters, areSet, capabilitiesBy, eventSources } from './provider/adapters.ts'
import {
  guardAccount,
  CLOCK_TOLERANCE_SECONDS,
  guardClock,
  createProviderClock,
  type ProviderClock,
  withCircuitBreaker,
} from './provider/guards.ts'
import type { PaymentProvider } from './provider/payment-provider.ts'
import type { EventReader, ProviderAdapter } from './provider/provider-adapter.ts'
import { createProviders, type Providers } from './provider/providers.ts'
import type { WebhookParts } from './webhooks/deliver-webhook.ts'
import { createSender } from './webhooks/send-webhook.ts'

/**
 * Creates the parts of an API process from its settings.
 *
 * @throws ConfigError when a setting names an unknown operation.
 */
export async function wireApi(
  config: Config,
  log: Logger,
  observe: ApiObserver = silentApiObserver,
): Promise<ApiParts> {
  requireKnownOperations(config)
  const store = wireStore(config, 'api', log, observe)
  const warnNotWoken = (error: unknown) =>
    log.warn({ err: error }, 'could not notify the workers; they poll')
  const watch = startIdleWatch(store, log, config.MAX_WAITING_REQUESTS)
  return {
    operations,
    store,
    apiKeyCache: createApiKeyCache(store, config.API_KEY_CACHE_SECONDS),
    keyed: {
      reserve: batchReservations(),
      findKey: batchLookUps(),
      watch,
      recentKeys: createRecentKeys(),
      answers: await openAnswers(config, { store, log, observe }),
      replays: createReplayCounter(store.sql, log),
    },
    live: createLiveFeed({
      store,
      watch,
      log,
      idleSeconds: config.CONSOLE_IDLE_SECONDS,
      timeoutMs: config.STORE_TIMEOUT_MS,
    }),
    limits: {
      ...createApiLimits(config, store, log, observe),
      slots: createSlots(config.MAX_CONCURRENT_REQUESTS, (tenantId) => watch.waiting(tenantId)),
    },
    readOverview: createOverviewReader(store.sql, () => systemClock.monotonicMs()),
    wake: {
      workers: createJobWaker(store.sql, warnNotWoken),
      eventWorkers: createJobWaker(store.sql, warnNotWoken, PROVIDER_EVENTS_QUEUE),
    },
    providers: {
      defaultName: config.PROVIDER,
      capabilitiesOf: capabilitiesBy(config),
      eventReaders: await wireEventReaders(config),
    },
    settings: config,
    observe,
    log,
  }
}

/** They keep one tenant, or a store that fails, from making the service unavailable to all tenants. */
function createApiLimits(
  config: Config,
  { sql }: Store,
  log: Logger,
  observe: ApiObserver,
): Omit<ApiLimits, 'slots'> {
  const windowSeconds = config.RATE_LIMIT_WINDOW_SECONDS
  return {
    rate: createRateLimiter(windowSeconds, createSharedCount(sql), log),
    invalidKeys: createInvalidKeysLimit({ limit: config.RATE_LIMIT_INVALID_KEYS, windowSeconds }),
    activeKeys: createKeysLimit(
      activeKeys,
      ({ tenantId, most }) => countActiveKeys(sql, tenantId, most),
      log,
    ),
    storedKeys: createKeysLimit(
      storedKeys,
      ({ tenantId, most }) => countStoredKeys(sql, tenantId, most),
      log,
    ),
    storeBreaker: createStoreBreaker(
      { failures: config.STORE_BREAKER_FAILURES, openMs: config.BREAKER_OPEN_MS },
      observe.turned,
    ),
  }
}

/** The operations that can have a retention. A canceled key has the longest of them. */
const retained: readonly string[] = [
  ...operations.map(({ name }) => name),
  ...localOperations.filter((name) => name !== CANCEL_KEY),
]

function requireKnownOperations({ KEY_RETENTION_SECONDS_BY_OPERATION: own = {} }: Config): void {
  if (Object.keys(own).every((name) => retained.includes(name))) return
  throw new ConfigError(
    `KEY_RETENTION_SECONDS_BY_OPERATION names an unknown operation; there are ${retained.join(', ')}`,
  )
}

/** The parts that every worker process has. */
export type WorkerBase = Pick<Engine, 'store' | 'clock' | 'random' | 'observe' | 'log'>

/** @param name the name of the process, which an operator sees in pg_stat_activity. */
export function wireWorkerBase(
  config: Config,
  log: Logger,
  observe: EngineObserver = silentObserver,
  name = 'worker',
): WorkerBase {
  const store = wireStore(config, name, log, observe)
  return { store, clock: systemClock, random: Math.random, observe, log }
}

/**
 * Creates the parts that a worker process needs for payments and for maintenance.
 *
 * @throws ConfigError when a setting names an unknown operation, and see `wireProviders`.
 */
export async function wireEngine(config: Config, base: WorkerBase): Promise<Engine> {
  requireKnownOperations(config)
  const { store, log } = base
  const providers = await wireProviders(config, base)
  const declared = providers.all.map(({ capabilities }) => capabilities)
  const running = createCounts()
  return {
    ...base,
    operations,
    running,
    claim: batchClaims(store.sql),
    record: batchRecords(running),
    providers,
    settings: { ...config, CHECK_DELAYS_SECONDS: checkDelaysSeconds(declared, config) },
    announceIdle: createIdleAnnouncer(store.sql, (error) =>
      log.warn({ err: error }, 'could not notify waiting requests; they poll'),
    ),
  }
}

/** Creates the parts that a worker process needs to deliver webhooks. They know no provider. */
export function wireWebhooks(
  config: Config,
  { store, clock, random, log }: WorkerBase,
): WebhookParts {
  return {
    store,
    clock,
    random,
    log,
    settings: config,
    send: createSender({
      timeoutMs: config.WEBHOOK_TIMEOUT_MS,
      allowInsecure: config.WEBHOOK_ALLOW_INSECURE,
      resolve: wireNames(config),
    }),
  }
}

/**
 * Sets the keys with which this process encrypts and decrypts values of the database, and returns them.
 *
 * @throws ConfigError when ENCRYPTION_KEYS is not set.
 */
export function wireEncryption({
  ENCRYPTION_KEYS,
}: Config): NonNullable<Config['ENCRYPTION_KEYS']> {
  if (ENCRYPTION_KEYS === undefined) {
    throw new ConfigError('ENCRYPTION_KEYS is not set; `npm start` generates a key')
  }
  useEncryption(createEncryption(ENCRYPTION_KEYS))
  return ENCRYPTION_KEYS
}

/** @throws ConfigError when DATABASE_URL is not set. */
export function requireDatabaseUrl({ DATABASE_URL }: Config): string {
  if (DATABASE_URL !== undefined) return DATABASE_URL
  throw new ConfigError(
    'DATABASE_URL is not set, and no `npm start`, which has its own, runs with this DATA_DIR',
  )
}

function wireStore(
  config: Config,
  process: string,
  log: Logger,
  { storeFailed }: Pick<ApiObserver & EngineObserver, 'storeFailed'>,
): Store {
  const url = requireDatabaseUrl(config)
  wireEncryption(config)
  return openStore({
    url,
    applicationName: `atomic-payments ${process}`,
    poolSize: config.DATABASE_POOL_SIZE,
    timeoutMs: config.STORE_TIMEOUT_MS,
    role: config.DATABASE_SERVICE_ROLE,
    failed: storeFailed,
    unnotified: () =>
      log.warn('a pooler passes no notifications on, so this process polls: it answers later'),
  })
}

/** What the providers need of a process. */
type ProviderBase = Pick<Engine, 'store' | 'observe' | 'log'>

/**
 * The providers whose keys are set.
 *
 * @throws ConfigError when the provider of the service has no key, or a setting is not true of one.
 */
export async function wireProviders(config: Config, base: ProviderBase): Promise<Providers> {
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
  { store: { sql }, log }: ProviderBase,
  turned: (isOpen: boolean) => void,
): PaymentProvider {
  const { name } = provider
  const guarded = guardAccount(provider, {
    recordFirst: (account) => recordFirstAccount(sql, name, account),
    refused: (error) =>
      log.error({ err: error, provider: name }, 'no call is made to the provider'),
    unchecked: () => warnUnchecked(log, name),
  })
  return withCircuitBreaker(guarded, { failures, openMs }, turned)
}

const APART = "the clocks are apart from the provider's: lookups prove no absence"

/** Compares the clock of this process with that of the provider, at each of its answers. */
function watchClock(name: string, { store: { sql }, observe, log }: ProviderBase): ProviderClock {
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
  { store: { sql }, log }: ProviderBase,
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
function wireNames({ DNS_SERVERS: servers, DNS_TIMEOUT_MS: timeoutMs }: Config): Resolve {
  return createResolver({ timeoutMs, servers, monotonicMs: () => systemClock.monotonicMs() })
}
