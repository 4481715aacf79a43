// Defines an endpoint, a function from the parts of the service and a request to an answer, and a route: a
// path with an endpoint for each method.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request } from 'express'
import type { Logger } from 'pino'
import type { Answers } from '../answers/answers.ts'
import type { Config } from '../config.ts'
import type { Store } from '../db/connection/client.ts'
import type { FindKey, Reserve } from '../db/idempotency/intents.ts'
import { withinMs } from '../db/connection/store-errors.ts'
import type { ApiKeyCache } from './server/api-key-cache.ts'
import type { Operations } from '../engine/engine.ts'
import type { Route as ProviderRoute } from '../domain/payments/routing.ts'
import type { Capabilities } from '../provider/capabilities.ts'
import type { EventReader } from '../provider/provider-adapter.ts'
import type { Answer } from './responses/answer.ts'
import type { Slots } from './limits/concurrency.ts'
import type { InvalidKeysLimit } from './limits/invalid-keys.ts'
import type { KeysLimit } from './limits/keys-limit.ts'
import type { RateLimiter } from './limits/rate-limit.ts'
import type { StoreBreaker } from './limits/store-breaker.ts'
import type { ApiObserver } from './observer.ts'
import type { RecentKeys } from './keyed/recent-keys.ts'
import type { ReplayCounter } from './keyed/replay-counter.ts'
import type { IdleWatch } from './keyed/idle-watch.ts'
import type { Scope } from '../domain/tenants/api-key.ts'

/** Limits that keep one tenant, or one failure, from making the service unavailable to all. */
export interface ApiLimits {
  readonly slots: Slots
  readonly rate: RateLimiter
  readonly invalidKeys: InvalidKeysLimit
  readonly activeKeys: KeysLimit
  readonly storedKeys: KeysLimit
  readonly storeBreaker: StoreBreaker
}

/** Sends what happens to the browsers of operators. */
export interface LiveFeed {
  isFull(): boolean
  /** Sends events to the response until its browser disconnects or its session ends. */
  add(response: ServerResponse, tokenHash: Buffer): void
  /** Ends all connections. Later ones are ended at once. */
  stop(): void
}

/** The parts of the service that every endpoint may use. */
export interface ServiceParts {
  readonly store: Store
  /** For a request of a tenant, with the limits that the tenant has of its own. */
  readonly settings: Config
  readonly operations: Operations
  readonly providers: ProviderParts
  readonly apiKeyCache: ApiKeyCache
  readonly limits: ApiLimits
  readonly wake: Wake
  readonly observe: ApiObserver
  readonly log: Logger
  /**
   * Aborted at the start of shutdown: the process reports that it is not ready, and still answers.
   */
  readonly stopping?: AbortSignal
}

/** What an API process knows of the providers. It calls none. */
export interface ProviderParts {
  /** The name of the provider of tenants that have none of their own. */
  readonly defaultName: string
  /** What a provider promises and can do. */
  readonly capabilitiesOf: (provider: string) => Capabilities
  /** By the name of the provider; only of providers with whose secret signatures can be verified. */
  readonly eventReaders: ReadonlyMap<string, EventReader>
}

/** Wakes workers. To be called after the transaction that enqueued a job was committed. */
interface Wake {
  readonly workers: () => void
  /** Those that apply the provider's events. */
  readonly eventWorkers: () => void
}

/** The parts for the requests of a tenant. */
export interface TenantParts extends ServiceParts {
  readonly keyed: KeyedParts
  /** The tenant of the request. */
  readonly tenant?: TenantSettings
}

/** What reserves idempotency keys, and finds and replays their answers. */
interface KeyedParts {
  readonly reserve: Reserve
  readonly findKey: FindKey
  readonly watch: IdleWatch
  readonly recentKeys: RecentKeys
  /** Copies of completed answers, in front of the store. */
  readonly answers: Answers
  /** Counts the requests that use a key again. */
  readonly replays: ReplayCounter
}

interface TenantSettings {
  /** The tenant's own providers, in their order. */
  readonly routes: readonly ProviderRoute[] | undefined
  /** Whether new payments and refunds must have a reference. */
  readonly requiresReference: boolean
}

/** The parts for the requests of operators. */
interface OperatorParts extends ServiceParts {
  /** Reads the overview, at most once a second. */
  readonly readOverview: () => Promise<object>
  readonly live: LiveFeed
}

/** All parts of an API process. */
export type ApiParts = TenantParts & OperatorParts

/** An endpoint that anyone may call. */
export type OpenEndpoint = (parts: ServiceParts, request: Request) => Promise<Answer>

/** An endpoint for the tenant that owns the API key of the request. */
export type TenantEndpoint = (
  parts: TenantParts,
  request: Request,
  tenantId: string,
) => Promise<Answer>

/** An endpoint for the named operator; operators may act on the resources of all tenants. */
export type AdminEndpoint = (
  parts: OperatorParts,
  request: Request,
  operator: string,
) => Promise<Answer>

/** An endpoint for the browser of an operator who is logged in to the console. */
export type SessionEndpoint = (
  parts: OperatorParts,
  request: Request,
  session: OpenSession,
) => Promise<Answer>

/** Whether the method of the request only reads. */
export function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

/**
 * Returns the value of each header line with this name. Node's `headers` joins or drops repeated
 * lines.
 */
export function headerLines(request: IncomingMessage, name: string): string[] {
  return request.headersDistinct[name] ?? []
}

/** @throws StoreTimeoutError when the store does not answer within STORE_TIMEOUT_MS. */
export function withinStoreTimeout<Value>(
  { settings }: ServiceParts,
  statement: Promise<Value>,
): Promise<Value> {
  return withinMs(settings.STORE_TIMEOUT_MS, statement)
}

const BEARER = /^Bearer +([^ ]+)$/i

/** Returns the bearer token; undefined when the header is repeated or has another form. */
export function readBearer(lines: readonly string[]): string | undefined {
  return lines.length === 1 ? BEARER.exec(lines[0] ?? '')?.[1] : undefined
}

/** A key with the name and the role of its operator. */
export type OperatorKey = NonNullable<Config['ADMIN_API_KEY']>[number]

/** The person who sends a request. */
export type Operator = Pick<OperatorKey, 'name' | 'role'>

/** A session of the console that has not ended. */
export interface OpenSession {
  readonly operator: Operator
  readonly tokenHash: Buffer
  /** Every change needs it. */
  readonly csrfToken: string
  readonly expiresAt: Date
}

export interface Route {
  readonly path: string
  readonly get?: Endpoint
  readonly post?: Endpoint
  readonly delete?: Endpoint
}

/**
 * Who may call it: `tenant` needs an API key with a scope, `admin` an operator key or a session of the
 * console, `session` a session, `open` and `console` neither.
 */
export type Endpoint =
  | { readonly access: 'open'; readonly endpoint: OpenEndpoint }
  | {
      readonly access: 'tenant'
      readonly scope: Scope
      /** It changes something without a key of its own: its path already makes it safe to repeat. */
      readonly isKeyless?: true
      readonly endpoint: TenantEndpoint
    }
  | { readonly access: 'admin'; readonly endpoint: AdminEndpoint }
  | {
      readonly access: 'session'
      /** A viewer may call it, although it changes something. */
      readonly isForViewers: boolean
      readonly endpoint: SessionEndpoint
    }
  | { readonly access: 'console'; readonly endpoint: OpenEndpoint }

export const open = (endpoint: OpenEndpoint): Endpoint => ({ access: 'open', endpoint })
export const tenant = (endpoint: TenantEndpoint, scope: Scope): Endpoint => ({
  access: 'tenant',
  scope,
  endpoint,
})
export const keyless = (endpoint: TenantEndpoint, scope: Scope): Endpoint => ({
  access: 'tenant',
  scope,
  isKeyless: true,
  endpoint,
})
export const admin = (endpoint: AdminEndpoint): Endpoint => ({ access: 'admin', endpoint })
export const withSession = (endpoint: SessionEndpoint, isForViewers = false): Endpoint => ({
  access: 'session',
  isForViewers,
  endpoint,
})
export const consoleOnly = (endpoint: OpenEndpoint): Endpoint => ({ access: 'console', endpoint })
