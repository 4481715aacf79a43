// Builds the Express app: adds authentication, rate limits, error answers and a log line to the
// routes. It does not listen.
import { randomUUID } from 'node:crypto'
import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import type { AuthenticatedKey } from '../../db/tenants/api-keys.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { ProblemType } from '../../domain/problems/problems.ts'
import { showId } from '../../domain/resource-id.ts'
import {
  addHeaders,
  GOES_ON,
  problemAnswer,
  problemOf,
  sendAnswer,
  type Answer,
  retryAfter,
} from '../responses/answer.ts'
import { authenticateSession } from '../console/authenticate-session.ts'
import { authenticateOperator, authorizeOperator } from '../operators/authenticate.ts'
import { authenticate, requireScope } from './authenticate.ts'
import {
  isRead,
  withinStoreTimeout,
  headerLines,
  type ApiParts,
  type ServiceParts,
  type TenantParts,
  type Endpoint,
  type Route,
} from '../endpoint.ts'
import { flavorHeaders, repeatabilityResult } from '../responses/added-headers.ts'
import { addIdempotencyMember } from '../keyed/prefer.ts'
import { policyLink } from '../resources/idempotency-policy.ts'
import { limitConcurrency } from '../limits/concurrency.ts'
import { rateLimitHeaders } from '../limits/rate-limit.ts'
import { refusals } from '../observer.ts'
import { describeError } from '../../log.ts'
import { START_PATH } from '../service/docs.ts'
import { isServed, routes } from './routes.ts'
import type { IncomingMessage } from 'node:http'
import { hidesCardNumber } from '../../domain/payments/card-number.ts'
import { startServedSpan } from '../../tracing/spans.ts'

export function createApp(parts: ApiParts): Express {
  const app = express()
  app
    .disable('x-powered-by')
    .disable('etag')
    .enable('strict routing')
    .enable('case sensitive routing')
    // Without proxies the client's address is that of the connection, and its headers name no other one.
    .set('trust proxy', parts.settings.TRUST_PROXY ?? false)
  app.use(
    removeForwardedPorts,
    traceRequest(),
    logRequest(parts),
    limitConcurrency(parts.limits.slots, unverifiedPaths),
  )
  const serve = serveEndpoints(parts)
  for (const route of routes) {
    if (!isServed(route, parts.settings)) continue
    if (route.get !== undefined) app.get(route.path, serve(route.get))
    if (route.post !== undefined) app.post(route.path, serve(route.post))
    if (route.delete !== undefined) app.delete(route.path, serve(route.delete))
    if (route.path === START_PATH) continue
    app.all(route.path, () => {
      throw new ProblemError('method-not-allowed', { headers: { allow: allowedMethods(route) } })
    })
  }
  app.use(() => {
    throw new ProblemError('route-not-found')
  })
  app.use(answerError(parts))
  return app
}

/** The routes that read a body before they know its sender. */
const unverifiedPaths: ReadonlySet<string> = new Set(
  routes
    .filter(({ post }) => post?.access === 'open' || post?.access === 'console')
    .map(({ path }) => path),
)

function serveEndpoints(parts: ApiParts) {
  const callerOf = createCallers(parts)
  return (route: Endpoint) =>
    async (request: Request, response: Response): Promise<void> => {
      // Set first, so that errors have it, too.
      if (isKeyed(route, request)) addHeaders(response, policyLink)
      send(parts, request, response, await answerOf(parts, callerOf, route, request, response))
    }
}

async function answerOf(
  parts: ApiParts,
  callerOf: CallerOf,
  route: Endpoint,
  request: Request,
  response: Response,
): Promise<Answer> {
  if (route.access === 'open' || route.access === 'console') {
    return await route.endpoint(parts, request)
  }
  if (route.access === 'session') {
    const session = await authenticateSession(parts, request)
    response.locals['caller'] = { operator: session.operator.name }
    if (!route.isForViewers) await authorizeOperator(parts, request, session.operator)
    return await route.endpoint(parts, request, session)
  }
  if (route.access === 'admin') {
    const operator = await authenticateOperator(parts, request)
    response.locals['caller'] = { operator: operator.name }
    await authorizeOperator(parts, request, operator)
    return await route.endpoint(parts, request, operator.name)
  }
  const apiKey = await authenticate(parts, request)
  const { tenantId } = apiKey
  const { own, shown } = callerOf(apiKey)
  response.locals['caller'] = shown
  limitRate(own, request, response, tenantId)
  parts.limits.slots.assign(request, tenantId)
  requireScope(apiKey, route.scope)
  const answer = route.endpoint(own, request, tenantId)
  // A POST may wait for its result. It limits the time of each of its statements instead.
  return request.method === 'POST' ? await answer : await withinStoreTimeout(parts, answer)
}

/** What all requests with an API key have in common. */
interface Caller {
  /** The parts with the tenant's own limits, and with its share of the connections. */
  readonly own: TenantParts
  /** The ids as the log shows them. */
  readonly shown: Readonly<Record<string, string>>
}

type CallerOf = (apiKey: AuthenticatedKey) => Caller

/** Makes each caller once for as long as its key is cached. */
function createCallers(parts: ApiParts): CallerOf {
  const callers = new WeakMap<AuthenticatedKey, Caller>()
  return (apiKey) => {
    const caller = callers.get(apiKey) ?? makeCaller(parts, apiKey)
    callers.set(apiKey, caller)
    return caller
  }
}

function makeCaller(parts: ApiParts, apiKey: AuthenticatedKey): Caller {
  const { tenantId, keyId, limits, requiresReference, providers } = apiKey
  const settings = { ...parts.settings, ...limits }
  const store = { ...parts.store, sql: parts.store.ofTenant(tenantId) }
  const shown = { tenant: showId('tnt', tenantId), key: keyId }
  const tenant = { requiresReference, routes: providers ?? undefined }
  return { own: { ...parts, settings, store, tenant }, shown }
}

/** Every request of a tenant that changes something needs an idempotency key. */
function isKeyed(route: Endpoint, request: Request): boolean {
  return route.access === 'tenant' && route.isKeyless !== true && !isRead(request)
}

function send(
  { settings }: ServiceParts,
  request: Request,
  response: Response,
  answer: Answer,
  problem?: ProblemType,
): void {
  addHeaders(response, flavorHeaders(settings.IDEMPOTENCY_FLAVOR, request, answer))
  addHeaders(response, repeatabilityResult(request, answer, problem))
  sendAnswer(response, addIdempotencyMember(settings, request, answer))
}

/**
 * Counts the request. Sets the rate limit headers on every answer, errors included.
 *
 * @throws ProblemError rate-limited.
 */
function limitRate(
  { limits, settings }: ServiceParts,
  request: Request,
  response: Response,
  tenantId: string,
): void {
  const use = isRead(request)
    ? limits.rate.count(tenantId, 'reads', settings.RATE_LIMIT_READS)
    : limits.rate.count(tenantId, 'writes', settings.RATE_LIMIT_WRITES)
  if (use === undefined) return
  addHeaders(response, rateLimitHeaders(use))
  if (!use.exceeded) return
  throw new ProblemError('rate-limited', { headers: retryAfter(use.resetSeconds) })
}

function allowedMethods({ get, post, delete: remove }: Route): string {
  return [
    ...(get === undefined ? [] : ['GET', 'HEAD']),
    ...(post === undefined ? [] : ['POST']),
    ...(remove === undefined ? [] : ['DELETE']),
  ].join(', ')
}

/**
 * Logs one line per request, with the route instead of the path: a client can put secrets in a
 * path.
 */
function logRequest({ log, observe }: ServiceParts) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const startedAt = performance.now()
    const requestId = `req_${randomUUID()}`
    addHeaders(response, { 'request-id': requestId })
    let isLogged = false
    const report = (isAborted: boolean) => {
      if (isLogged) return
      isLogged = true
      const ms = performance.now() - startedAt
      const { method } = request
      const route = request.route?.path as string | undefined
      const status = response.statusCode
      observe.served({ method, route, status, seconds: ms / 1_000 })
      log.info(
        {
          request: requestId,
          trace: traceIdOf(request),
          method,
          route,
          ...(response.locals['caller'] as Caller['shown'] | undefined),
          status,
          ms: Math.round(ms),
          aborted: isAborted || undefined,
        },
        'request',
      )
    }
    // How long a stream of events lasts says nothing about the service.
    response.once(GOES_ON, () => report(false))
    response.once('close', () => report(!response.writableFinished))
    next()
  }
}

function answerError(parts: ServiceParts) {
  const { log, settings, observe } = parts
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    // Express throws a URIError for a path with broken escapes. Such a path has no route.
    const cause = error instanceof URIError ? new ProblemError('route-not-found') : error
    const problem = problemOf(cause)
    const answer = problemAnswer(problem, settings.IDEMPOTENCY_FLAVOR)
    const refusal = refusals.find((type) => type === problem.type)
    if (refusal !== undefined) observe.refused(refusal)
    if (answer.status === 503) log.warn({ reason: describeError(cause)['message'] }, 'unavailable')
    else if (answer.status >= 500) log.error({ err: cause }, 'a request failed')
    if (response.headersSent) response.destroy()
    else send(parts, request, response, answer, problem.type)
  }
}

const WITH_PORT = /^\s*(?:\[([\da-f:.]+)\](?::\d+)?|(\d{1,3}(?:\.\d{1,3}){3}):\d+)\s*$/i

/**
 * Some load balancers write the port of the client into X-Forwarded-For, which is another one for each
 * connection. Express would take it for a part of the address.
 */
function removeForwardedPorts({ headers }: Request, _: Response, next: NextFunction): void {
  const forwarded = headers['x-forwarded-for']
  if (typeof forwarded === 'string') {
    headers['x-forwarded-for'] = forwarded.split(',').map(withoutPort).join(',')
  }
  next()
}

/** `192.0.2.1:4711`, `[2001:db8::1]:4711` and `[2001:db8::1]`; any other text stays. */
function withoutPort(text: string): string {
  const [, v6, v4] = WITH_PORT.exec(text) ?? []
  return v6 ?? v4 ?? text
}

// One span per request, as part of the client's trace when `traceparent` names one. The span has the route
// instead of the path: a client can put secrets in a path.

/** Versions after 00 may have more fields at the end. */
const TRACEPARENT = /^(?!ff)(?!00.{54})[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-|$)/
const NOTHING = /^0+$/

/**
 * Returns the trace id of a W3C `traceparent` header; undefined when it is missing or malformed, and
 * when its digits contain a card number: the id is logged. The specification requires malformed ones
 * to be ignored.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function traceIdOf(request: IncomingMessage): string | undefined {
  const lines = headerLines(request, 'traceparent')
  const [, traceId = '', parentId = ''] = TRACEPARENT.exec(lines.join()) ?? []
  if (traceId === '' || NOTHING.test(traceId) || NOTHING.test(parentId)) return undefined
  const runs = traceId.match(/\d+/g) ?? []
  return runs.some(hidesCardNumber) ? undefined : traceId
}

function traceRequest() {
  return (request: Request, response: Response, next: NextFunction): void => {
    const isPart = traceIdOf(request) !== undefined
    const span = startServedSpan(request.method, isPart ? request.headers : {})
    if (span === undefined) return next()
    response.once('close', () =>
      span.end(request.route?.path as string | undefined, response.statusCode),
    )
    span.run(next)
  }
}
