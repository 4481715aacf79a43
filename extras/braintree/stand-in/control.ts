// Implements the control routes under /_control, for tests and experiments. They use JSON, need no
// keys, and no fault is injected into them.
import { Router, json, type ErrorRequestHandler } from 'express'
import { z } from 'zod'
import { DELAY_DEFAULT_MS, type FaultRules } from '../../../dev/stand-in/fault-rules.ts'
import { createFaultRoutes } from '../../../dev/stand-in/fault-routes.ts'
import type { HangingConnections } from '../../../dev/stand-in/hanging-connections.ts'
import { disputeKinds, disputeStatuses, type Dispute } from './disputes/dispute.ts'
import { faultNames, type FaultName } from './faults/faults.ts'
import { Refusal } from './requests/refusals.ts'
import type { Member } from './requests/xml.ts'
import { newId, type Storage } from './storage.ts'
import { enter, showTransaction, type Status } from './transactions/transaction.ts'
import { findTransaction } from './transactions/changes.ts'

const settings = z.strictObject({
  request_keys: z.boolean().exactOptional(),
  duplicate_seconds: z.int().min(0).exactOptional(),
  search_lag_seconds: z.int().min(0).exactOptional(),
})

const newDispute = z.strictObject({
  transaction: z.string(),
  kind: z.enum(disputeKinds).default('chargeback'),
  amount: z.int().min(1).optional(),
})

const disputeStep = z.strictObject({ status: z.enum(disputeStatuses) })

const clockMove = z.strictObject({ advance_seconds: z.int().min(0) })

/** The machine's clock plus an offset that tests increase, in milliseconds since 1970. */
export interface Clock {
  now(): number
  advance(seconds: number): void
  reset(): void
}

export function createClock(systemNow: () => number): Clock {
  let offsetMs = 0
  return {
    now: () => systemNow() + offsetMs,
    advance: (seconds) => void (offsetMs += seconds * 1_000),
    reset: () => void (offsetMs = 0),
  }
}

export interface ControlParts {
  readonly storage: Storage
  readonly clock: Clock
  readonly faultRules: FaultRules<FaultName>
  readonly hanging: HangingConnections
}

export function createControlRoutes(parts: ControlParts): Router {
  const { storage, clock, faultRules, hanging } = parts
  return Router()
    .use(json({ type: () => true }))
    .use(
      createFaultRoutes({
        faultRules,
        names: faultNames,
        delayDefaultMs: () => DELAY_DEFAULT_MS,
        listExecuted: () => storage.executed,
        release: () => hanging.release(),
      }),
    )
    .post('/settings', (req, res) => {
      storage.settings = { ...storage.settings, ...settings.parse(req.body) }
      res.json(storage.settings)
    })
    .post('/clock', (req, res) => {
      clock.advance(clockMove.parse(req.body).advance_seconds)
      res.json({ now: new Date(clock.now()).toISOString() })
    })
    .use(createObjectRoutes(parts))
    .post('/reset', (_req, res) => {
      faultRules.clear()
      hanging.release()
      storage.reset()
      clock.reset()
      res.json({ status: 'ok' })
    })
    .use(refuseInvalidBody)
}

/** Creates the routes that move or alter single objects. */
function createObjectRoutes({ storage, clock }: ControlParts): Router {
  return Router()
    .post('/transactions/:id/status', (req, res) => {
      const transaction = findTransaction(storage, req.params.id)
      const { status } = req.body as { status: Status }
      enter(transaction, status, clock.now())
      res.json(showTransaction(transaction))
    })
    .post('/transactions/:id', (req, res) => {
      const transaction = findTransaction(storage, req.params.id)
      transaction.planted = { ...transaction.planted, ...(req.body as Record<string, Member>) }
      res.json(showTransaction(transaction))
    })
    .delete('/transactions/:id', (req, res) => {
      storage.transactions.delete(req.params.id)
      res.json({ status: 'ok' })
    })
    .post('/disputes', (req, res) => {
      const { transaction: id, kind, amount } = newDispute.parse(req.body)
      const { amountMinor, currency, orderId } = findTransaction(storage, id)
      const today = new Date(clock.now()).toISOString().slice(0, 10)
      const dispute: Dispute = {
        id: newId(),
        kind,
        status: 'open',
        amountMinor: amount ?? amountMinor,
        currency,
        transactionId: id,
        orderId,
        receivedDate: today,
        effectiveDate: today,
      }
      storage.disputes.set(dispute.id, dispute)
      res.status(201).json(dispute)
    })
    .post('/disputes/:id', (req, res) => {
      const dispute = storage.disputes.get(req.params.id)
      if (dispute === undefined) return void res.status(404).json({ error: 'no such dispute' })
      dispute.status = disputeStep.parse(req.body).status
      dispute.effectiveDate = new Date(clock.now()).toISOString().slice(0, 10)
      res.json(dispute)
    })
}

const refuseInvalidBody: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  if (error instanceof Refusal) return void res.status(404).json({ error: 'no such transaction' })
  if (!(error instanceof z.ZodError)) return next(error)
  res.status(400).json({ error: z.prettifyError(error) })
}
