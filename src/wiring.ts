// Wires the concrete parts together: the store, the clock, and the providers of wire-providers.ts. No
// other file chooses them.
import type { Logger } from 'pino'
import { openAnswers } from './answers/open-answers.ts'
import { ConfigError } from './config-error.ts'
import type { Config } from './config.ts'
import { batchClaims } from './db/operations/leases.ts'
import { batchRecords } from './db/operations/record-phases.ts'
import { createCounts } from './domain/tenants/tenant-counts.ts'
import { openStore, type Store } from './db/connection/client.ts'
import { createEncryption } from './db/encryption/encryption.ts'
import { useEncryption } from './db/encryption/encrypted-values.ts'
import { createApiKeyCache } from './db/tenants/api-key-cache.ts'
import { createJobWaker, createIdleAnnouncer } from './db/connection/notifications.ts'
import { PROVIDER_EVENTS_QUEUE } from './db/queue/jobs.ts'
import { batchLookUps, batchReservations } from './db/idempotency/intents.ts'
import type { ApiParts } from './http/endpoint.ts'
import { createApiLimits } from './http/limits/api-limits.ts'
import { createPlaces } from './http/limits/concurrency.ts'
import { silentApiObserver, type ApiObserver } from './http/observer.ts'
import { sessionLimits } from './http/operators/authenticate.ts'
import { createLiveFeed } from './http/console/live-feed.ts'
import { createRecentKeys } from './http/keyed/recent-keys.ts'
import { createReplayCounter } from './http/keyed/replay-counter.ts'
import { startIdleWatch } from './http/keyed/idle-watch.ts'
import { CANCEL_KEY } from './domain/idempotency/idempotency-key.ts'
import { localOperations } from './domain/operations/operation.ts'
import { type Engine, systemClock } from './engine/engine.ts'
import { silentObserver, type EngineObserver } from './engine/observer.ts'
import { operations } from './operations/index.ts'
import { createOverviewReader } from './db/operators/overview.ts'
import { checkDelaysSeconds } from './provider/capabilities.ts'
import { capabilitiesBy } from './provider/adapters.ts'
import { wireEventReaders, wireNames, wireProviders } from './wire-providers.ts'
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
    recentKeys: createRecentKeys(),
    answers: await openAnswers(config, { store, log, observe }),
    replays: createReplayCounter(store.sql, log),
    reserve: batchReservations(),
    findKey: batchLookUps(),
    watch,
    live: createLiveFeed({
      store,
      watch,
      log,
      limits: sessionLimits(config),
      timeoutMs: config.STORE_TIMEOUT_MS,
    }),
    limits: {
      ...createApiLimits(config, store, log, observe),
      places: createPlaces(config.MAX_CONCURRENT_REQUESTS, (tenantId) => watch.waiting(tenantId)),
    },
    readOverview: createOverviewReader(store.sql, () => systemClock.monotonicMs()),
    wakeWorkers: createJobWaker(store.sql, warnNotWoken),
    wakeEventWorkers: createJobWaker(store.sql, warnNotWoken, PROVIDER_EVENTS_QUEUE),
    // The API never calls a provider, so it only needs names and declarations.
    providerName: config.PROVIDER,
    capabilitiesOf: capabilitiesBy(config),
    eventReaders: await wireEventReaders(config),
    settings: config,
    observe,
    log,
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
 * Sets the keys with which this process encrypts and decrypts values of the database.
 *
 * @throws ConfigError when ENCRYPTION_KEYS is not set.
 */
export function wireEncryption({ ENCRYPTION_KEYS }: Config): void {
  if (ENCRYPTION_KEYS === undefined) {
    throw new ConfigError('ENCRYPTION_KEYS is not set; `npm start` generates a key')
  }
  useEncryption(createEncryption(ENCRYPTION_KEYS))
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
