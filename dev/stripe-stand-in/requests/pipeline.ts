// Handles each API request in a fixed order: authenticates it, injects a fault if a rule is due,
// and executes or replays it according to its idempotency key.
import type { RequestHandler, Response } from 'express'
import type { Logger } from 'pino'
import type { HangingConnections } from '../../stand-in/hanging-connections.ts'
import type { Listener } from '../../stand-in/listener.ts'
import { resetConnection, sendAnswer } from '../../stand-in/wire.ts'
import { readApiRequest, type ApiRequest } from './api-request.ts'
import type { Answer, Endpoint } from './endpoint.ts'
import type { Clock } from '../clock.ts'
import type { FaultRules, InjectedFault } from '../faults/fault-rules.ts'
import { faults, type FaultedRequest } from '../faults/faults.ts'
import type { Idempotency } from './idempotency.ts'
import type { LateRequests } from './late-requests.ts'
import type { RateLimits } from './rate-limits.ts'
import { settleDue } from '../settle-due.ts'
import type { Storage } from '../storage.ts'
import { serverError, StripeError } from './stripe-errors.ts'
import { refusalAnswer } from './wire.ts'

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
  { clock, storage, hanging, idempotency, lateRequests, listener }: PipelineParts,
): Promise<void> {
  const released = hanging.signal()
  // Does the work, or replays or refuses it, by the idempotency key of the request.
  const answer = (work: () => Answer) => idempotency.answer(request, work)
  const lateAtMs = () => clock.now() + delayMs
  const faulted: FaultedRequest = {
    request,
    res,
    delayMs,
    execute: () => answer(execute),
    executeAndFail: () => answer(() => failAfter(execute)),
    fail: () => answer(() => failAfter(() => {})),
    failAndExecuteLate: () =>
      answer(() =>
        failAfter(() =>
          lateRequests.plan({
            atMs: lateAtMs(),
            execute: (nowMs) => ignoreRefusal(() => storage.transaction(() => execute(nowMs))),
          }),
        ),
      ),
    executeLate: () =>
      lateRequests.plan({
        atMs: lateAtMs(),
        end: idempotency.begin(request),
        execute: (nowMs) => idempotency.answer({ ...request, nowMs }, () => execute(nowMs)),
      }),
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

/** What the state of its object does not allow any more is not done. */
function ignoreRefusal(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof StripeError)) throw error
  }
}

function answerError(error: unknown, res: Response, logger: Logger): void {
  if (!(error instanceof StripeError)) logger.error({ err: error }, 'unexpected error')
  sendAnswer(res, refusalAnswer(error instanceof StripeError ? error : serverError()))
}
