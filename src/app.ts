// The Express app: puts the routes together with authentication, answers and one log line each. It
// never listens.
import { randomUUID } from 'node:crypto'
import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import { ProblemError } from './domain/errors.ts'
import { problemAnswer, sendAnswer, type Answer } from './http/answer.ts'
import { authenticate } from './http/authenticate.ts'
import { withinStoreTimeout, type ApiParts } from './http/endpoint.ts'
import { describeError } from './log.ts'
import { routes, type Endpoint, type Route } from './http/routes.ts'

export function createApp(parts: ApiParts): Express {
  const app = express()
  app
    .disable('x-powered-by')
    .disable('etag')
    .enable('strict routing')
    .enable('case sensitive routing')
  app.use(logRequest(parts))
  for (const route of routes) {
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
    sendAnswer(response, await answerOf(parts, served, request, response))
  }
}

async function answerOf(
  parts: ApiParts,
  served: Endpoint,
  request: Request,
  response: Response,
): Promise<Answer> {
  if (served.access === 'open') return await served.endpoint(parts, request)
  const tenantId = await withinStoreTimeout(parts, authenticate(parts.store, request))
  response.locals['tenant'] = tenantId
  const answer = served.endpoint(parts, request, tenantId)
  // What is posted may wait for its result, and bounds each of its statements by itself.
  return request.method === 'POST' ? await answer : await withinStoreTimeout(parts, answer)
}

function allowedMethods({ get, post, delete: remove }: Route): string {
  return [
    ...(get === undefined ? [] : ['GET', 'HEAD']),
    ...(post === undefined ? [] : ['POST']),
    ...(remove === undefined ? [] : ['DELETE']),
  ].join(', ')
}

/** One line for each request. Names the route, not the path: a path may hold what a client put there. */
function logRequest({ log }: ApiParts) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const startedAt = performance.now()
    const requestId = `req_${randomUUID()}`
    response.set('request-id', requestId)
    response.once('close', () => {
      log.info(
        {
          request: requestId,
          method: request.method,
          route: request.route?.path,
          tenant: response.locals['tenant'],
          status: response.statusCode,
          ms: Math.round(performance.now() - startedAt),
          aborted: !response.writableFinished || undefined,
        },
        'request',
      )
    })
    next()
  }
}

function answerError({ log }: ApiParts) {
  return (error: unknown, _request: Request, response: Response, _next: NextFunction): void => {
    // Express refuses a path whose escapes are broken: there is no such route, and no such resource.
    const known = error instanceof URIError ? new ProblemError('route-not-found') : error
    const answer = problemAnswer(known)
    if (answer.status === 503) log.warn({ reason: describeError(known)['message'] }, 'unavailable')
    else if (answer.status >= 500) log.error({ err: known }, 'a request failed')
    if (response.headersSent) response.destroy()
    else sendAnswer(response, answer)
  }
}
