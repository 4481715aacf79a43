// Implements the control routes under /_control, for tests and experiments. Unlike the API they use
// JSON, need no secret key, and no fault is injected into them.
import { Router, json, type ErrorRequestHandler, type RequestHandler } from 'express'
import { z } from 'zod'
import { authenticatePaymentIntent, authenticationOutcomes } from './authenticate.ts'
import { DELAY_DEFAULT_MS } from './fault-rules.ts'
import { faultNames } from './faults.ts'
import { idempotencyModes } from './idempotency.ts'
import type { PipelineParts } from './pipeline.ts'
import { alterObject, findObject, removeObject } from './planted-differences.ts'
import { refundStatuses } from './refund.ts'
import { settleDue } from './settle-due.ts'
import { settleRefund } from './settle-refund.ts'
import { StripeError } from './stripe-errors.ts'
import type { WebhookKnobs } from './webhook-outbox.ts'

const faultRule = z.strictObject({
  match: z
    .strictObject({
      method: z.enum(['GET', 'POST']).optional(),
      path: z.string().startsWith('/').optional(),
      payment_method: z.string().optional(),
      nth: z.int().min(1).optional(),
    })
    .default({}),
  fault: z.enum(faultNames),
  times: z.int().min(1).default(1),
  delay_ms: z.int().min(0).default(DELAY_DEFAULT_MS),
})

const clockMove = z.strictObject({ advance_seconds: z.int().min(0) })

const idempotencyChange = z.strictObject({ mode: z.enum(idempotencyModes) })

const authentication = z.strictObject({ outcome: z.enum(authenticationOutcomes) })

const settlement = z.strictObject({
  status: z.enum(refundStatuses),
  failure_reason: z.string().min(1).optional(),
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
})

type ControlParts = Omit<PipelineParts, 'listener' | 'logger'>

/** Creates the routes under /_control. They answer an invalid request with 400 and the reason. */
export function createControlRoutes(parts: ControlParts): Router {
  const { storage, clock, idempotency, faultRules, hanging } = parts
  return Router()
    .use(json({ type: () => true }))
    .get('/health', (_req, res) => void res.json({ status: 'ok' }))
    .get('/executed', (_req, res) => void res.json({ data: storage.executed.list() }))
    .get('/faults', (_req, res) => void res.json({ data: faultRules.list() }))
    .post('/faults', (req, res) => {
      res.status(201).json(faultRules.add(faultRule.parse(req.body)))
    })
    .delete('/faults', (_req, res) => {
      faultRules.clear()
      hanging.release()
      res.json({ data: [] })
    })
    .post('/clock', (req, res) => {
      clock.advance(clockMove.parse(req.body).advance_seconds)
      settleDue(storage, clock.now())
      res.json({ now: new Date(clock.now()).toISOString() })
    })
    .post('/idempotency', (req, res) => {
      const { mode } = idempotencyChange.parse(req.body)
      idempotency.setMode(mode)
      res.json({ mode })
    })
    .post('/payment_intents/:id/authenticate', (req, res) => {
      const { outcome } = authentication.parse(req.body)
      res.json(authenticatePaymentIntent(storage, req.params.id, outcome, clock.now()))
    })
    .post('/refunds/:id/settle', (req, res) => {
      const { status, failure_reason: failureReason } = settlement.parse(req.body)
      res.json(settleRefund(storage, req.params.id, { status, failureReason }, clock.now()))
    })
    .get('/objects/:id', (req, res) => void res.json(findObject(storage.objects, req.params.id)))
    .post('/objects/:id', (req, res) => {
      res.json(alterObject(storage, req.params.id, alteration.parse(req.body)))
    })
    .delete('/objects/:id', (req, res) => {
      removeObject(storage, req.params.id)
      res.json({ id: req.params.id, deleted: true })
    })
    .get('/webhooks', (_req, res) => {
      res.json({ ...storage.events.knobs(), data: storage.events.list() })
    })
    .post('/webhooks', (req, res) => {
      res.json(storage.events.setKnobs(webhookKnobs.parse(req.body)))
    })
    .post('/reset', (_req, res) => {
      faultRules.reset()
      hanging.release()
      storage.empty()
      clock.reset()
      idempotency.setMode('keep')
      res.json({ status: 'ok' })
    })
    .use(refuseUnknownRoute)
    .use(refuseInvalidBody)
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
