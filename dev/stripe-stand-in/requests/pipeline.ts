// Handles each API request in a fixed order: authenticates it, injects a fault if a rule is due,
// and executes or replays it according to its idempotency key.
import type { RequestHandler, Response } from 'express'
import type { Logger } from 'pino'
import type { HangingConnections } from '../../stand-in/hanging-connections.ts'
import type { Listener } from '../../stand-in/listener.ts'
import { resetConnection, sendAnswer } from '../../stand-in/wire.ts'
import { newId } from '../ids.ts'
import { readApiRequest, type ApiRequest } from './api-request.ts'
import type { Answer, Endpoint } from './endpoint.ts'
import type { Clock } from '../clock.ts'
import type { FaultRules, InjectedFault } from '../faults/fault-rules.ts'
import { faults, type FaultedRequest } from '../faults/faults.ts'
import { refusalAnswer, type Idempotency } from './idempotency.ts'
import type { LateRequests } from './late-requests.ts'
import type { RateLimits } from './rate-limits.ts'
import { settleDue } from '../settle-due.ts'
import type { Storage } from '../storage.ts'
import { serverError, StripeError } from './stripe-errors.ts'

export interface PipelineParts {
  storage: Storage
  clock: Clock
  idempotency: Idempotency
  faultRules: FaultRules
  hanging: HangingConnections
  lateRequests: LateRequests
  rateLimits: RateLimits
  listener: Listener
  logger: Logger
}

/** Returns a function that turns an endpoint into a request handler. */
export function createPipeline(parts: PipelineParts): (endpoint: Endpoint) => RequestHandler {
  const { storage, clock, idempotency, faultRules, rateLimits, listener, logger } = parts
  return (endpoint) => async (req, res) => {
    // An open connection must not work while new connections are refused.
    if (listener.isRefusing()) return resetConnection(res)
    res.setHeader('Date', new Date(clock.now()).toUTCString())
    try {
      const requestId = String(res.getHeader('request-id'))
      const request = readApiRequest(req, requestId, clock.now())
      // Before the idempotency key is looked up, so a 429 says nothing about an earlier try.
      res.once('close', rateLimits.admit(request))
      settleDue(parts, clock.now())
      const records = storage.of(request.account)
      const execute = (nowMs = request.nowMs) => endpoint({ ...request, nowMs }, records)
      const injected = faultRules.pick(request)
      if (injected === undefined) sendAnswer(res, idempotency.answer(request, execute))
      else await injectFault(injected, { request, res, execute }, parts)
    } catch (error) {
      answerError(error, res, logger)
    }
  }
}

interface PipelineRequest {
  request: ApiRequest
  res: Response
  /** By default at the time of the request. */
  execute: (nowMs?: number) => Answer
}

async function injectFault(
  { fault, delayMs }: InjectedFault,
  { request, res, execute }: PipelineRequest,
  { clock, hanging, idempotency, lateRequests, listener }: PipelineParts,
): Promise<void> {
  const released = hanging.signal()
  // Does the work, or replays or refuses it, by the idempotency key of the request.
  const answer = (work: () => Answer) => idempotency.answer(request, work)
  const fail = (work: () => void) =>
    answer(() => {
      work()
      throw serverError(true)
    })
  const executeLate = (late: ApiRequest) =>
    lateRequests.plan({
      atMs: clock.now() + delayMs,
      end: idempotency.begin(late),
      execute: (nowMs) => idempotency.answer({ ...late, nowMs }, () => execute(nowMs)),
    })
  const faulted: FaultedRequest = {
    request,
    res,
    delayMs,
    execute: () => answer(execute),
    fail: () => fail(() => {}),
    executeAndFail: () => fail(execute),
    // The key keeps the failure, so the work is done without it.
    failAndExecuteLate: () => fail(() => executeLate({ ...request, idempotencyKey: undefined })),
    executeLate: () => executeLate(request),
    whileInFlight: (work) => idempotency.whileInFlight(request, work),
    refuseConnections: listener.refuseFor,
    released,
  }
  res.locals['fault'] = fault
  try {
    await faults[fault](faulted)
  } catch (error) {
    // Work that waits for `released` rejects when it is aborted: the connection must be closed.
    if (!released.aborted) throw error
    res.destroy()
  }
}

function answerError(error: unknown, res: Response, logger: Logger): void {
  if (!(error instanceof StripeError)) logger.error({ err: error }, 'unexpected error')
  sendAnswer(res, refusalAnswer(error instanceof StripeError ? error : serverError()))
}

/**
 * Gives each request an id and writes one log line for it. The line never contains bodies or headers,
 * because they may contain secrets.
 */
export function logRequests(logger: Logger): RequestHandler {
  return (req, res, next) => {
    const startedMs = performance.now()
    const { method, path } = req
    const requestId = newId('req')
    res.setHeader('Request-Id', requestId)
    res.once('close', () => {
      logger.info(
        {
          method,
          path,
          status: res.headersSent ? res.statusCode : null,
          complete: res.writableFinished,
          duration_ms: Math.round(performance.now() - startedMs),
          request_id: requestId,
          fault: res.locals['fault'] as string | undefined,
        },
        'request',
      )
    })
    next()
  }
}
