// Implements the control routes under /_control, for tests and experiments. Unlike the API they use
// JSON, need no secret key, and no fault is injected into them.
import { Router, json, type ErrorRequestHandler, type RequestHandler } from 'express'
import { z } from 'zod'
import { createFaultRoutes } from '../stand-in/fault-routes.ts'
import {
  authenticatePaymentIntent,
  authenticationOutcomes,
} from './payment-intents/authenticate.ts'
import { delayDefaultMs } from './faults/fault-rules.ts'
import { faultNames } from './faults/faults.ts'
import { idempotencyModes } from './requests/idempotency.ts'
import type { PipelineParts } from './requests/pipeline.ts'
import { expireHold, expiryReasons, moveHold } from './payment-intents/expire-hold.ts'
import type { RateLimitSettings } from './requests/rate-limits.ts'
import { alterObject, findObject, removeObject } from './faults/planted-differences.ts'
import { addMovement } from './balance/balance-transactions.ts'
import { refundStatuses } from './refunds/refund-status.ts'
import { settleDue } from './settle-due.ts'
import { settleRefund } from './refunds/settle-refund.ts'
import { disputeStatuses } from './disputes/dispute.ts'
import { moveDispute, openDisputeOf } from './disputes/move-dispute.ts'
import type { Records } from './storage.ts'
import { StripeError } from './requests/stripe-errors.ts'
import type { WebhookKnobs } from './webhooks/webhook-outbox.ts'

const clockMove = z.union([
  z.strictObject({ advance_seconds: z.int().min(0) }),
  z.strictObject({ ahead_seconds: z.int() }),
])

const idempotencyChange = z.strictObject({ mode: z.enum(idempotencyModes) })

const limit = z.int().min(0).nullish()

const rateLimitSettings: z.ZodType<RateLimitSettings> = z.strictObject({
  global_per_second: limit,
  endpoint_per_second: limit,
  global_concurrent: limit,
  endpoint_concurrent: limit,
  intent_updates_per_hour: limit,
})

const authentication = z.strictObject({ outcome: z.enum(authenticationOutcomes) })

const expiry = z.strictObject({ reason: z.enum(expiryReasons).default('automatic') })

const holdChange = z.strictObject({ ends_in_seconds: z.int() })

const settlement = z.strictObject({
  status: z.enum(refundStatuses),
  failure_reason: z.string().min(1).optional(),
})

const movement = z.strictObject({
  type: z.string().min(1),
  reporting_category: z.string().min(1).exactOptional(),
  amount: z.int(),
  currency: z.string().regex(/^[a-z]{3}$/),
  fee: z.int().exactOptional(),
  source: z.string().min(1).nullable().exactOptional(),
  description: z.string().nullable().exactOptional(),
  exchange_rate: z.number().positive().nullable().exactOptional(),
})

const newDispute = z.strictObject({
  payment_intent: z.string(),
  amount: z.int().min(1).exactOptional(),
  reason: z.string().min(1).exactOptional(),
  status: z.enum(['needs_response', 'warning_needs_response']).exactOptional(),
})

const disputeStep = z.strictObject({
  status: z.enum(disputeStatuses),
  amount: z.int().min(1).optional(),
  returns_fee: z.boolean().optional(),
})

/**
 * The id and the kind cannot be altered. Members with a column of their own must keep their type.
 */
const alteration = z.looseObject({
  id: z.never().optional(),
  object: z.never().optional(),
  created: z.int().min(0).optional(),
  metadata: z.record(z.string(), z.string()).optional(),
})

const webhookKnobs: z.ZodType<Partial<WebhookKnobs>> = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .nullable()
    .exactOptional(),
  lose: z.int().min(0).exactOptional(),
  duplicate: z.int().min(0).max(10).exactOptional(),
  shuffle: z.boolean().exactOptional(),
  delay_ms: z.int().min(0).exactOptional(),
  old_secret: z.string().min(1).nullable().exactOptional(),
})

/** A request on a connection that the server is about to close is reset, and a test fails by chance. */
const closeConnection: RequestHandler = (_req, res, next) => {
  res.set('Connection', 'close')
  next()
}

/** A page in a browser must not control the stand-in; a program sends neither header. */
const refuseOtherSites: RequestHandler = (req, res, next) => {
  const site = req.get('sec-fetch-site') ?? 'none'
  const origin = req.get('origin')
  const isOwn =
    origin === undefined || (URL.canParse(origin) && new URL(origin).host === req.get('host'))
  if (isOwn && ['none', 'same-origin'].includes(site)) return next()
  res.status(403).json(controlError('Requests of other sites are refused.'))
}

type ControlParts = Omit<PipelineParts, 'listener' | 'logger'>

/** Creates the routes under /_control. They answer an invalid request with 400 and the reason. */
export function createControlRoutes(parts: ControlParts): Router {
  const { storage, clock, idempotency, faultRules, hanging, lateRequests, rateLimits } = parts
  return Router()
    .use(closeConnection)
    .use(refuseOtherSites)
    .use(json({ type: () => true }))
    .use(
      createFaultRoutes({
        faultRules,
        names: faultNames,
        delayDefaultMs,
        listExecuted: () => storage.executed.list(),
        release: () => {
          hanging.release()
          lateRequests.executeAll(clock.now())
        },
      }),
    )
    .post('/clock', (req, res) => {
      const move = clockMove.parse(req.body)
      if ('ahead_seconds' in move) clock.setAhead(move.ahead_seconds)
      else clock.advance(move.advance_seconds)
      settleDue(parts, clock.now())
      res.json({ now: new Date(clock.now()).toISOString() })
    })
    .post('/idempotency', (req, res) => {
      const { mode } = idempotencyChange.parse(req.body)
      idempotency.setMode(mode)
      res.json({ mode })
    })
    .post('/rate_limits', (req, res) => {
      const settings = rateLimitSettings.parse(req.body)
      rateLimits.set(settings)
      res.json(settings)
    })
    .use(createObjectRoutes(parts))
    .get('/webhooks', (_req, res) => {
      res.json({ ...storage.events.knobs(), data: storage.events.list() })
    })
    .post('/webhooks', (req, res) => {
      res.json(storage.events.setKnobs(webhookKnobs.parse(req.body)))
    })
    .post('/reset', (_req, res) => {
      faultRules.reset()
      rateLimits.set({})
      hanging.release()
      lateRequests.drop()
      storage.empty()
      clock.setAhead(0)
      idempotency.setMode('keep')
      res.json({ status: 'ok' })
    })
    .use(refuseUnknownRoute)
    .use(refuseInvalidBody)
}

/** Creates the routes that move or alter single objects. */
function createObjectRoutes({ storage, clock }: ControlParts): Router {
  return Router()
    .post('/payment_intents/:id/authenticate', (req, res) => {
      const { outcome } = authentication.parse(req.body)
      res.json(authenticatePaymentIntent(storage, req.params.id, outcome, clock.now()))
    })
    .post('/payment_intents/:id/expire', (req, res) => {
      const { reason } = expiry.parse(req.body ?? {})
      res.json(expireHold(storage, req.params.id, reason, clock.now()))
    })
    .post('/payment_intents/:id/hold', (req, res) => {
      const { ends_in_seconds: seconds } = holdChange.parse(req.body)
      const captureBefore = Math.floor(clock.now() / 1000) + seconds
      moveHold(storage, req.params.id, captureBefore)
      res.json({ capture_before: captureBefore })
    })
    .post('/refunds/:id/settle', (req, res) => {
      const { status, failure_reason: failureReason } = settlement.parse(req.body)
      const { id } = req.params
      const settle = (records: Records) =>
        settleRefund(records, id, { status, failureReason }, clock.now())
      res.json(storage.change(id, settle))
    })
    .post('/balance_transactions', (req, res) => {
      res.status(201).json(addMovement(storage, movement.parse(req.body), clock.now()))
    })
    .post('/disputes', (req, res) => {
      res.json(openDisputeOf(storage, newDispute.parse(req.body), clock.now()))
    })
    .post('/disputes/:id', (req, res) => {
      res.json(moveDispute(storage, req.params.id, disputeStep.parse(req.body), clock.now()))
    })
    .get('/objects/:id', (req, res) => void res.json(findObject(storage.objects, req.params.id)))
    .post('/objects/:id', (req, res) => {
      res.json(alterObject(storage, req.params.id, alteration.parse(req.body)))
    })
    .delete('/objects/:id', (req, res) => {
      removeObject(storage, req.params.id)
      res.json({ id: req.params.id, deleted: true })
    })
}

const refuseUnknownRoute: RequestHandler = (req, res) => {
  res.status(404).json(controlError(`There is no ${req.method} ${req.originalUrl}`))
}

const refuseInvalidBody: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  if (error instanceof z.ZodError) {
    res.status(400).json(controlError(describeIssues(error)))
  } else if (error instanceof StripeError) {
    res.status(error.status).json(error.body)
  } else if (error instanceof SyntaxError) {
    res.status(400).json(controlError(`The body is not JSON: ${error.message}`))
  } else {
    next(error)
  }
}

function describeIssues({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => [...path, message].join(': ')).join('; ')
}

function controlError(message: string): object {
  return { error: { type: 'invalid_request_error', message } }
}
