// Assembles the Stripe stand-in: a server with Stripe's wire format, its own storage, and faults on
// demand.
import { createServer } from 'node:http'
import express, { type ErrorRequestHandler, type Express } from 'express'
import { pino, type Logger } from 'pino'
import { apiRoutes } from './api-routes.ts'
import { createClock } from './clock.ts'
import { createControlRoutes } from './control.ts'
import { createFaultRules } from './faults/fault-rules.ts'
import { createHangingConnections } from '../stand-in/hanging-connections.ts'
import { createListener, type Address } from '../stand-in/listener.ts'
import { createIdempotency } from './requests/idempotency.ts'
import type { Endpoint } from './requests/endpoint.ts'
import { expanding } from './requests/expand.ts'
import { knownParameters, refuseUnknown } from './requests/known-parameters.ts'
import { createLateRequests } from './requests/late-requests.ts'
import { createPipeline, logRequests, type PipelineParts } from './requests/pipeline.ts'
import { createRateLimits } from './requests/rate-limits.ts'
import { settleDue } from './settle-due.ts'
import { openStorage } from './storage.ts'
import { malformedRequest, unknownUrl } from './requests/stripe-errors.ts'
import { createWebhookSender } from './webhooks/webhook-sender.ts'

export type StripeStandIn = ReturnType<typeof createStripeStandIn>

export interface StripeStandInOptions {
  /** The SQLite file. It and its folder are created if necessary. `:memory:` stores nothing. */
  path: string
  /** The clock on which the stand-in's own clock is based, in milliseconds since 1970. */
  systemNow?: () => number
  /** Receives the events, unless a control route sets another URL. */
  webhookUrl?: string | undefined
  /** Signs the events. */
  webhookSecret?: string | undefined
  logger?: Logger
}

/** How often the timetable is read; each request reads it, too. */
const TIMETABLE_MS = 500

const WEBHOOK_SECRET = 'whsec_mock'

/** Creates a stand-in that does not listen yet. */
export function createStripeStandIn({
  path,
  systemNow = Date.now,
  webhookUrl,
  webhookSecret: secret = WEBHOOK_SECRET,
  logger = pino({ level: 'silent' }),
}: StripeStandInOptions) {
  const app = express()
  const storage = openStorage({ path, webhookUrl: webhookUrl ?? null, systemNow })
  const listener = createListener(createServer(app))
  const hanging = createHangingConnections()
  const clock = createClock(storage.settings, systemNow)
  const sender = createWebhookSender({ outbox: storage.events, secret, systemNow, logger })
  const lateRequests = createLateRequests()
  let timetable: NodeJS.Timeout | undefined
  addRoutes(app, {
    storage,
    clock,
    idempotency: createIdempotency(storage),
    faultRules: createFaultRules(),
    rateLimits: createRateLimits(() => clock.now()),
    hanging,
    lateRequests,
    listener,
    logger,
  })
  return {
    /** Starts to listen and returns the port. Port 0 picks a free one. */
    listen: (address: Address) => {
      sender.start()
      timetable = setInterval(() => settleDue({ storage, lateRequests }, clock.now()), TIMETABLE_MS)
      return listener.listen(address)
    },
    /** Closes all connections, then the storage. */
    close: async () => {
      hanging.release()
      clearInterval(timetable)
      await sender.stop()
      await listener.close()
      storage.close()
    },
  }
}

function addRoutes(app: Express, parts: PipelineParts): void {
  const serve = createPipeline(parts)
  app.disable('x-powered-by').set('query parser', 'extended')
  app.use(logRequests(parts.logger))
  app.use('/_control', createControlRoutes(parts))
  app.use(express.urlencoded({ extended: true }))

  for (const [method, path, endpoint] of apiRoutes) {
    const known = knownParameters(method, path)
    const checked: Endpoint = (request, records) => {
      refuseUnknown(request.params, known)
      return endpoint(request, records)
    }
    app[method](path, serve(expanding(method, path, checked)))
  }

  app.use(
    serve(({ method, path }) => {
      throw unknownUrl(method, path)
    }),
  )
  app.use(refuseMalformedBody)
}

/** Answers errors of the form parser, which have a 4xx status. */
const refuseMalformedBody: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  const { status } = error as { status?: unknown }
  if (typeof status !== 'number' || status >= 500) return next(error)
  res.status(status).json(malformedRequest(status, String(error)).body)
}
