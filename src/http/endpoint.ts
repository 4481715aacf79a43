// What every endpoint is: a function from a request, and the parts of the service, to an answer.
import type { IncomingMessage } from 'node:http'
import type { Request } from 'express'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Store } from '../db/connection/client.ts'
import { withinMs } from '../db/connection/deadline.ts'
import type { ApiKeyCache } from '../db/tenants/api-key-cache.ts'
import type { ProviderEvent } from '../domain/events/provider-event.ts'
import type { Operations } from '../engine/engine.ts'
import type { Answer } from './responses/answer.ts'
import type { ActiveKeysLimit } from './limits/active-keys.ts'
import type { Places } from './limits/concurrency.ts'
import type { RateLimiter } from './limits/rate-limit.ts'
import type { StoreBreaker } from './limits/store-breaker.ts'
import type { ApiObserver } from './observer.ts'
import type { RecentKeys } from './keyed/recent-keys.ts'
import type { IdleWatch } from './keyed/idle-watch.ts'

/** What keeps one tenant, or one failure, from taking the service from everyone. */
export interface ApiLimits {
  readonly places: Places
  readonly rate: RateLimiter
  readonly activeKeys: ActiveKeysLimit
  readonly storeBreaker: StoreBreaker
}

/** The parts of the service that the API works with. */
export interface ApiParts {
  readonly operations: Operations
  readonly store: Store
  readonly apiKeyCache: ApiKeyCache
  readonly recentKeys: RecentKeys
  readonly watch: IdleWatch
  /** Wakes the workers after a job was committed. */
  readonly wakeWorkers: () => void
  /** Wakes those that apply the provider's events. */
  readonly wakeEventWorkers: () => void
  /** The name under which payments are made with the provider. */
  readonly providerName: string
  /**
   * Proves that a body is an event of the provider, by its signature, and reads it. Throws ProblemError
   * for what is none. Undefined when there is no secret to prove it by.
   */
  readonly readProviderEvent:
    | ((body: Uint8Array, signature: string | undefined) => ProviderEvent)
    | undefined
  readonly settings: Pick<
    Config,
    | 'WAIT_SECONDS'
    | 'WAIT_MAX_SECONDS'
    | 'KEY_RETENTION_SECONDS'
    | 'IDEMPOTENCY_FLAVOR'
    | 'EXPIRED_KEYS'
    | 'CARD_NUMBER_CHECK'
    | 'STORE_TIMEOUT_MS'
    | 'CHECK_ON_READ_SECONDS'
    | 'WEBHOOK_ALLOW_INSECURE'
    | 'MAX_CONNECTIONS'
    | 'REQUEST_MAX_AGE_SECONDS'
    | 'ADMIN_API_KEY'
    | 'ADMIN_DUAL_CONTROL'
    | 'LEASE_MS'
    | 'PROVIDER_KEY_WINDOW_SECONDS'
    | 'MAX_ACTIVE_KEYS'
    | 'RATE_LIMIT_WRITES'
    | 'RATE_LIMIT_READS'
    | 'RATE_LIMIT_WINDOW_SECONDS'
  >
  readonly limits: ApiLimits
  readonly observe: ApiObserver
  /** Aborted when this process is told to stop: it is not ready any more, and still answers. */
  readonly stopping?: AbortSignal
  readonly log: Logger
}

/** An endpoint that anyone may call. */
export type OpenEndpoint = (parts: ApiParts, request: Request) => Promise<Answer>

/** An endpoint for the tenant whose API key came with the request. */
export type TenantEndpoint = (
  parts: ApiParts,
  request: Request,
  tenantId: string,
) => Promise<Answer>

/** An endpoint for the operator of that name, of whatever tenant it is about. */
export type AdminEndpoint = (parts: ApiParts, request: Request, operator: string) => Promise<Answer>

/** The values of all header lines of that name, as received: Node joins or drops repeated ones. */
export function headerLines(request: IncomingMessage, name: string): string[] {
  return request.headersDistinct[name] ?? []
}

/** @throws StoreTimeoutError when the store takes longer to answer than the settings allow. */
export function withinStoreTimeout<Value>(
  { settings }: ApiParts,
  statement: Promise<Value>,
): Promise<Value> {
  return withinMs(settings.STORE_TIMEOUT_MS, statement)
}
