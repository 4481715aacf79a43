// The Express app: puts the routes together with authentication, answers and one log line each. It
// never listens.
import { randomUUID } from 'node:crypto'
import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { problemAnswer, problemOf, sendAnswer, type Answer } from '../responses/answer.ts'
import { authenticateOperator } from '../admin/authenticate-operator.ts'
import { authenticate, requireScope } from './authenticate.ts'
import { withinStoreTimeout, type ApiParts } from '../endpoint.ts'
import { flavorHeaders } from '../responses/flavor-headers.ts'
import { policyLink } from '../idempotency-keys/idempotency-policy-get.ts'
import { limitConcurrency } from '../limits/concurrency.ts'
import { rateLimitHeaders } from '../limits/rate-limit.ts'
import { securityHeaders } from '../limits/security-headers.ts'
import { refusals } from '../observer.ts'
import { traceIdOf } from './trace-parent.ts'
import { traceRequest } from './trace-request.ts'
import { describeError } from '../../log.ts'
import { routes, type Endpoint, type Route } from './routes.ts'

export function createApp(parts: ApiParts): Express {
  const app = express()
  app
    .disable('x-powered-by')
    .disable('etag')
    .enable('strict routing')
    .enable('case sensitive routing')
  app.use(traceRequest(), logRequest(parts), securityHeaders(), limitConcurrency(parts))
  for (const route of routes) {
    // Without operators the paths of theirs are none of ours.
    if (isForOperators(route) && parts.settings.ADMIN_API_KEY === undefined) continue
    if (route.get !== undefined) app.get(route.path, serve(parts, route.get))
    if (route.post !== undefined) app.post(route.path, serve(parts, route.post))
    if (route.delete !== undefined) app.delete(route.path, serve(parts, route.delete))
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

function serve(parts: ApiParts, served: Endpoint) {
  return async (request: Request, response: Response): Promise<void> => {
    // Set first, so that errors have it too.
    if (isKeyed(served, request)) response.set(policyLink)
    send(parts, request, response, await answerOf(parts, served, request, response))
  }
}

async function answerOf(
  parts: ApiParts,
  served: Endpoint,
  request: Request,
  response: Response,
): Promise<Answer> {
  if (served.access === 'open') return await served.endpoint(parts, request)
  if (served.access === 'admin') {
    const operator = authenticateOperator(parts, request)
    response.locals['operator'] = operator
    return await served.endpoint(parts, request, operator)
  }
  const holder = await authenticate(parts, request)
  const { tenantId } = holder
  response.locals['tenant'] = tenantId
  response.locals['key'] = holder.keyId
  limitRate(parts, request, response, tenantId)
  requireScope(holder, served.scope)
  const answer = served.endpoint(parts, request, tenantId)
  // What is posted may wait for its result, and bounds each of its statements by itself.
  return request.method === 'POST' ? await answer : await withinStoreTimeout(parts, answer)
}

/** Whatever a tenant's request changes, it changes under a key. */
function isKeyed({ access }: Endpoint, { method }: Request): boolean {
  return access === 'tenant' && method !== 'GET' && method !== 'HEAD'
}

function send({ settings }: ApiParts, request: Request, response: Response, answer: Answer): void {
  response.set(flavorHeaders(settings.IDEMPOTENCY_FLAVOR, request, answer))
  sendAnswer(response, answer)
}

/** @throws ProblemError rate-limited. Whatever is answered, its headers say how the tenant stands. */
function limitRate(
  { limits }: ApiParts,
  { method }: Request,
  response: Response,
  tenantId: string,
): void {
  const isLookup = method === 'GET' || method === 'HEAD'
  const standing = limits.rate.count(tenantId, isLookup ? 'reads' : 'writes')
  if (standing === undefined) return
  response.set(rateLimitHeaders(standing))
  if (!standing.exceeded) return
  const headers = { 'retry-after': String(standing.resetSeconds) }
  throw new ProblemError('rate-limited', { headers })
}

function isForOperators({ get, post, delete: remove }: Route): boolean {
  return (get ?? post ?? remove)?.access === 'admin'
}

function allowedMethods({ get, post, delete: remove }: Route): string {
  return [
    ...(get === undefined ? [] : ['GET', 'HEAD']),
    ...(post === undefined ? [] : ['POST']),
    ...(remove === undefined ? [] : ['DELETE']),
  ].join(', ')
}

/** One line for each request. Names the route, not the path: a path may hold what a client put there. */
function logRequest({ log, observe }: ApiParts) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const startedAt = performance.now()
    const requestId = `req_${randomUUID()}`
    response.set('request-id', requestId)
    response.once('close', () => {
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
          tenant: response.locals['tenant'],
          key: response.locals['key'],
          operator: response.locals['operator'],
          status,
          ms: Math.round(ms),
          aborted: !response.writableFinished || undefined,
        },
        'request',
      )
    })
    next()
  }
}

function answerError(parts: ApiParts) {
  const { log, settings, observe } = parts
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    // Express refuses a path whose escapes are broken: there is no such route, and no such resource.
    const known = error instanceof URIError ? new ProblemError('route-not-found') : error
    const problem = problemOf(known)
    const answer = problemAnswer(problem, settings.IDEMPOTENCY_FLAVOR)
    const refusal = refusals.find((type) => type === problem.type)
    if (refusal !== undefined) observe.refused(refusal)
    if (answer.status === 503) log.warn({ reason: describeError(known)['message'] }, 'unavailable')
    else if (answer.status >= 500) log.error({ err: known }, 'a request failed')
    if (response.headersSent) response.destroy()
    else send(parts, request, response, answer)
  }
}
