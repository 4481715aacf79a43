// The mock provider: a stand-in for Stripe with the same wire format, its own storage and faults on
// demand. All of its routes are on this page.
import { createServer } from 'node:http'
import express, { type ErrorRequestHandler, type Express } from 'express'
import { pino, type Logger } from 'pino'
import { listBalanceTransactions, retrieveBalanceTransaction } from './balance-transactions.ts'
import { createClock } from './clock.ts'
import { createControlRoutes } from './control.ts'
import { createFaultRules } from './fault-rules.ts'
import { createHangingConnections } from './hanging-connections.ts'
import { createIdempotency } from './idempotency.ts'
import { createListener, type Address } from './listener.ts'
import {
  cancelPaymentIntent,
  capturePaymentIntent,
  confirmPaymentIntent,
  createPaymentIntent,
  listPaymentIntents,
  retrievePaymentIntent,
} from './payment-intents.ts'
import { createPipeline, type PipelineParts } from './pipeline.ts'
import { createRefund, listRefunds, retrieveRefund } from './refunds.ts'
import { logRequests } from './request-log.ts'
import { openStorage } from './storage.ts'
import { malformedRequest, unknownUrl } from './stripe-errors.ts'
import { createWebhookSender } from './webhook-sender.ts'

export interface StripeStandIn {
  /** Starts to listen and returns the port, which is a free one when 0 was asked for. */
  listen: (address: Address) => Promise<number>
  /** Lets go of every connection, then closes the storage. */
  close: () => Promise<void>
}

export interface StripeStandInOptions {
  /** The SQLite file; it and its folder are made when missing. `:memory:` keeps nothing. */
  path: string
  /** The clock that the provider's own is set by, in milliseconds since 1970. */
  systemNow?: () => number
  /** Where events are sent unless a control says otherwise. */
  webhookUrl?: string | undefined
  /** What they are signed with. */
  webhookSecret?: string | undefined
  logger?: Logger
}

const WEBHOOK_SECRET = 'whsec_mock'

/** Puts the provider together. It does not listen until it is told to. */
export function createStripeStandIn({
  path,
  systemNow = Date.now,
  webhookUrl,
  webhookSecret: secret = WEBHOOK_SECRET,
  logger = pino({ level: 'silent' }),
}: StripeStandInOptions): StripeStandIn {
  const app = express()
  const storage = openStorage({ path, webhookUrl: webhookUrl ?? null, systemNow })
  const listener = createListener(createServer(app))
  const hanging = createHangingConnections()
  const sender = createWebhookSender({ outbox: storage.events, secret, systemNow, logger })
  addRoutes(app, {
    storage,
    clock: createClock(storage.settings, systemNow),
    idempotency: createIdempotency(storage),
    faultRules: createFaultRules(),
    hanging,
    listener,
    logger,
  })
  return {
    listen: (address) => {
      sender.start()
      return listener.listen(address)
    },
    close: async () => {
      hanging.release()
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

  app.post('/v1/payment_intents', serve(createPaymentIntent))
  app.get('/v1/payment_intents', serve(listPaymentIntents))
  app.get('/v1/payment_intents/:id', serve(retrievePaymentIntent))
  app.post('/v1/payment_intents/:id/confirm', serve(confirmPaymentIntent))
  app.post('/v1/payment_intents/:id/capture', serve(capturePaymentIntent))
  app.post('/v1/payment_intents/:id/cancel', serve(cancelPaymentIntent))
  app.post('/v1/refunds', serve(createRefund))
  app.get('/v1/refunds', serve(listRefunds))
  app.get('/v1/refunds/:id', serve(retrieveRefund))
  app.get('/v1/balance_transactions', serve(listBalanceTransactions))
  app.get('/v1/balance_transactions/:id', serve(retrieveBalanceTransaction))

  app.use(
    serve(({ method, path }) => {
      throw unknownUrl(method, path)
    }),
  )
  app.use(refuseMalformedBody)
}

/** The form parser's complaints, which name a status of the 400s. */
const refuseMalformedBody: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  const { status } = error as { status?: unknown }
  if (typeof status !== 'number' || status >= 500) return next(error)
  res.status(status).json(malformedRequest(status, String(error)).body)
}
