// Implements the endpoints of /v1/balance_transactions
// (https://docs.stripe.com/api/balance_transactions). The source can be expanded.
import type Stripe from 'stripe'
import { behaviorOf } from '../customers/saved-methods.ts'
import type { Refund } from '../refunds/refund.ts'
import type { Endpoint } from '../requests/endpoint.ts'
import {
  movementOfCapture,
  newMovement,
  releaseOf,
  shownAt,
  type BalanceTransaction,
  type Movement,
} from './balance-transaction.ts'
import { chargeOf } from '../payment-intents/charge.ts'
import type { EventCause } from '../webhooks/event.ts'
import { readExpand } from '../requests/expand.ts'
import { listPage, type ListAnswer } from '../requests/list-page.ts'
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'
import type { Records, Storage } from '../storage.ts'
import { noSuchObject } from '../requests/stripe-errors.ts'

/** GET /v1/balance_transactions. */
export const listBalanceTransactions: Endpoint = (request, records) => {
  const expanded = readExpand(request.params, ['data.source', 'data.source.charge'])
  const page = listPage(request, records, 'balance_transaction', ['type', 'source'])
  const { data, ...list } = page.body
  const show = (movement: BalanceTransaction) => {
    const shown = shownAt(movement, request.nowMs)
    if (!expanded.has('data.source')) return shown
    return expandSource(shown, records, expanded.has('data.source.charge'))
  }
  return { ...page, body: { ...list, data: data.map(show) } }
}

/** GET /v1/balance_transactions/:id. */
export const retrieveBalanceTransaction: Endpoint = ({ objectId, params, nowMs }, records) => {
  const expanded = readExpand(params, ['source', 'source.charge'])
  const movement = records.objects.find('balance_transaction', objectId)
  if (movement === undefined) throw noSuchObject('balance transaction', objectId, 'id')
  const shown = shownAt(movement, nowMs)
  if (!expanded.has('source')) return { status: 200, body: shown }
  return { status: 200, body: expandSource(shown, records, expanded.has('source.charge')) }
}

/**
 * Adds the captured amount to the balance as Stripe does: all that was authorized, and what the
 * capture released as a refund. The caller runs it in the transaction of the capture.
 */
export function saveCapture(
  intent: PaymentIntent,
  { objects, events }: Pick<Records, 'objects' | 'events'>,
  cause: EventCause,
): void {
  const created = Math.floor(cause.nowMs / 1000)
  const isAtOnce = behaviorOf(intent, { objects })?.bypassesPending === true
  objects.save(movementOfCapture(intent, created, isAtOnce))
  if (intent.amount_received === intent.amount) return
  const { refund, movement } = releaseOf(intent, created, isAtOnce)
  objects.save(refund)
  objects.save(movement)
  events.append(cause, { type: 'refund.created', data: { object: refund } })
}

/** Adds any movement, for tests: Stripe has many types that no endpoint of the stand-in causes. */
export function addMovement(storage: Storage, movement: Movement, nowMs: number): object {
  return storage.transaction(() => {
    const added = newMovement(movement, Math.floor(nowMs / 1000))
    storage.objects.save(added)
    return added
  })
}

/** The answer to a list of refunds, with the movement of each. */
export function expandMovements(
  { body, ...answer }: ListAnswer<Refund>,
  { objects }: Records,
): ListAnswer<Stripe.Refund> {
  const { data, ...list } = body
  const expandedData = data.map((refund) => ({
    ...refund,
    balance_transaction:
      objects.find('balance_transaction', refund.balance_transaction ?? '') ??
      refund.balance_transaction,
  }))
  return { ...answer, body: { ...list, data: expandedData } }
}

/** A source that a test removed stays an id. */
function expandSource(
  movement: BalanceTransaction,
  { objects }: Records,
  withCharge: boolean,
): Stripe.BalanceTransaction {
  const { id, source } = movement
  const refund = objects.find('refund', source ?? '')
  if (refund !== undefined) {
    const charge = withCharge ? findCharge(refund.charge ?? '', objects) : undefined
    return { ...movement, source: { ...refund, charge: charge ?? refund.charge } }
  }
  const dispute = objects.find('dispute', source ?? '')
  if (dispute !== undefined) {
    const charge = withCharge ? findCharge(dispute.charge, objects) : undefined
    return { ...movement, source: { ...dispute, charge: charge ?? dispute.charge } }
  }
  const charge = findCharge(source ?? '', objects)
  return { ...movement, source: charge ? { ...charge, balance_transaction: id } : source }
}

function findCharge(id: string, objects: Records['objects']): Stripe.Charge | undefined {
  const intent = objects.findPaymentIntentOfCharge(id)
  return intent && chargeOf(intent, objects)
}
