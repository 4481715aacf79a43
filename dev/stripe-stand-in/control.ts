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
import { rateLimitSettings } from './requests/rate-limits.ts'
import { addedMovement, newMovement } from './balance/balance-transaction.ts'
import { settleDue } from './settle-due.ts'
import { settlement, settleRefund } from './refunds/settle-refund.ts'
import { disputeStep, moveDispute, openDisputeOf, openTerms } from './disputes/move-dispute.ts'
import { noSuchObject, StripeError } from './requests/stripe-errors.ts'
import type { ApiObjects, ObjectKind } from './objects.ts'
import type { Storage } from './storage.ts'
import { webhookKnobs } from './webhooks/webhook-outbox.ts'

const clockMove = z.union([
  z.strictObject({ advance_seconds: z.int().min(0) }),
  z.strictObject({ ahead_seconds: z.int() }),
])

const idempotencyChange = z.strictObject({ mode: z.enum(idempotencyModes) })

const authentication = z.strictObject({ outcome: z.enum(authenticationOutcomes) })

const expiry = z.strictObject({ reason: z.enum(expiryReasons).default('automatic') }).prefault({})

const holdChange = z.strictObject({ ends_in_seconds: z.int() })

/**
 * The id and the kind cannot be altered. Members with a column of their own must keep their type.
 */
const alteration = z.looseObject({
  id: z.never().optional(),
  object: z.never().optional(),
  created: z.int().min(0).optional(),
  metadata: z.record(z.string(), z.string()).optional(),
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
  const { storage, clock, faultRules, hanging, lateRequests } = parts
  const router = Router()
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
  for (const [path, handler] of Object.entries({ ...settingRoutes(parts), ...objectRoutes(parts) }))
    router.post(path, handler)
  return (
    router
      .get('/webhooks', (_req, res) => {
        res.json({ ...storage.events.knobs(), data: storage.events.list() })
      })
      // Stripe has many types of movements that no endpoint of the stand-in causes.
      .post('/balance_transactions', (req, res) => {
        const added = newMovement(addedMovement.parse(req.body), Math.floor(clock.now() / 1000))
        storage.objects.save(added)
        res.status(201).json(added)
      })
      .get('/objects/:id', (req, res) => void res.json(findObject(storage, req.params.id)))
      .delete('/objects/:id', (req, res) => {
        // Objects that refer to it, for example the movement of a refund, stay.
        storage.objects.remove(findObject(storage, req.params.id).id)
        res.json({ id: req.params.id, deleted: true })
      })
      .use(refuseUnknownRoute)
      .use(refuseInvalidBody)
  )
}

type PostRoutes = Readonly<Record<string, RequestHandler<{ id?: string }>>>

/** Answers with what the work returns for the body, and for the `:id` of the route. */
function answer<Body>(
  schema: z.ZodType<Body>,
  work: (body: Body, id: string) => object,
): PostRoutes[string] {
  return (req, res) => void res.json(work(schema.parse(req.body), req.params.id ?? ''))
}

function settingRoutes(parts: ControlParts): PostRoutes {
  const { storage, clock, idempotency, faultRules, hanging, lateRequests, rateLimits } = parts
  return {
    '/clock': answer(clockMove, (move) => {
      if ('ahead_seconds' in move) clock.setAhead(move.ahead_seconds)
      else clock.advance(move.advance_seconds)
      settleDue(parts, clock.now())
      return { now: new Date(clock.now()).toISOString() }
    }),
    '/idempotency': answer(idempotencyChange, (change) => {
      idempotency.setMode(change.mode)
      return change
    }),
    '/rate_limits': answer(rateLimitSettings, (settings) => {
      rateLimits.set(settings)
      return settings
    }),
    '/webhooks': answer(webhookKnobs.partial(), storage.events.setKnobs),
    '/reset': answer(z.any(), () => {
      faultRules.reset()
      rateLimits.set({})
      hanging.release()
      lateRequests.drop()
      storage.empty()
      clock.setAhead(0)
      idempotency.setMode('keep')
      return { status: 'ok' }
    }),
  }
}

type StoredObject = ApiObjects[ObjectKind]

/** @throws StripeError 404 when the object does not exist. */
function findObject({ objects }: Storage, id: string): StoredObject {
  const object = objects.findAny(id)
  if (object === undefined) throw noSuchObject('object', id, 'id')
  return object
}

/** Moves or alters single objects. */
function objectRoutes({ storage, clock }: ControlParts): PostRoutes {
  return {
    '/payment_intents/:id/authenticate': answer(authentication, ({ outcome }, id) =>
      authenticatePaymentIntent(storage, id, outcome, clock.now()),
    ),
    '/payment_intents/:id/expire': answer(expiry, ({ reason }, id) =>
      expireHold(storage, id, reason, clock.now()),
    ),
    '/payment_intents/:id/hold': answer(holdChange, ({ ends_in_seconds: seconds }, id) => {
      const captureBefore = Math.floor(clock.now() / 1000) + seconds
      moveHold(storage, id, captureBefore)
      return { capture_before: captureBefore }
    }),
    '/refunds/:id/settle': answer(settlement, (settled, id) =>
      storage.change(id, (records) => settleRefund(records, id, settled, clock.now())),
    ),
    '/disputes': answer(openTerms, (terms) => openDisputeOf(storage, terms, clock.now())),
    '/disputes/:id': answer(disputeStep, (step, id) => moveDispute(storage, id, step, clock.now())),
    // Without an event or an entry in the log, so that tests can compare with the truth.
    '/objects/:id': answer(alteration, (members, id) => {
      const altered = { ...findObject(storage, id), ...members } as StoredObject
      storage.objects.save(altered)
      return altered
    }),
  }
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
