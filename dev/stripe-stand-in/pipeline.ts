// Handles each API request in a fixed order: authenticates it, injects a fault if a rule is due,
// and executes or replays it according to its idempotency key.
import type { RequestHandler, Response } from 'express'
import type { Logger } from 'pino'
import { readApiRequest, type Answer, type ApiRequest, type Endpoint } from './api-request.ts'
import type { Clock } from './clock.ts'
import type { FaultRules, InjectedFault } from './fault-rules.ts'
import { faults, type FaultedRequest } from './faults.ts'
import type { HangingConnections } from './hanging-connections.ts'
import type { Idempotency } from './idempotency.ts'
import type { Listener } from './listener.ts'
import { settleDue } from './settle-due.ts'
import type { Storage } from './storage.ts'
import { serverError, StripeError } from './stripe-errors.ts'
import { refusalAnswer, resetConnection, sendAnswer, type WireAnswer } from './wire.ts'

export interface PipelineParts {
  storage: Storage
  clock: Clock
  idempotency: Idempotency
  faultRules: FaultRules
  hanging: HangingConnections
  listener: Listener
  logger: Logger
}

/** Returns a function that turns an endpoint into a request handler. */
export function createPipeline(parts: PipelineParts): (endpoint: Endpoint) => RequestHandler {
  const { storage, clock, idempotency, faultRules, listener, logger } = parts
  return (endpoint) => async (req, res) => {
    // An open connection must not work while new connections are refused.
    if (listener.isRefusing()) return resetConnection(res)
    try {
      const requestId = String(res.getHeader('request-id'))
      const request = readApiRequest(req, requestId, clock.now())
      const answer = (work: () => Answer) => idempotency.answer(request, work)
      settleDue(storage, clock.now())
      const { executed, events, timetable } = storage
      const objects = storage.objects.of(request.account)
      const execute = () => endpoint(request, { objects, executed, events, timetable })
      const injected = faultRules.pick(request)
      if (injected === undefined) sendAnswer(res, answer(execute))
      else await injectFault(injected, { request, res, answer, execute }, parts)
    } catch (error) {
      answerError(error, res, logger)
    }
  }
}

interface PipelineRequest {
  request: ApiRequest
  res: Response
  /** Does the work, or replays or refuses it, by the idempotency key of the request. */
  answer: (work: () => Answer) => WireAnswer
  execute: () => Answer
}

async function injectFault(
  { fault, delayMs }: InjectedFault,
  { request, res, answer, execute }: PipelineRequest,
  { hanging, idempotency, listener }: PipelineParts,
): Promise<void> {
  const released = hanging.signal()
  const faulted: FaultedRequest = {
    request,
    res,
    delayMs,
    execute: () => answer(execute),
    executeAndFail: () => answer(() => failAfter(execute)),
    fail: () => answer(() => failAfter(() => {})),
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

/** What is done stays done, and the idempotency key keeps the failure. */
function failAfter(work: () => void): never {
  work()
  throw serverError(true)
}

function answerError(error: unknown, res: Response, logger: Logger): void {
  if (!(error instanceof StripeError)) logger.error({ err: error }, 'unexpected error')
  sendAnswer(res, refusalAnswer(error instanceof StripeError ? error : serverError()))
}
