// Implements the endpoints of /v1/balance_transactions
// (https://docs.stripe.com/api/balance_transactions). The source can be expanded.
import type { Endpoint } from './api-request.ts'
import { movementOfCapture, type BalanceTransaction } from './balance-transaction.ts'
import { chargeOf } from './event.ts'
import { listPage } from './list-page.ts'
import { readStrings, type Parameters } from './parameters.ts'
import type { PaymentIntent } from './payment-intent.ts'
import type { Records } from './storage.ts'
import { invalidParameter, noSuchObject } from './stripe-errors.ts'

/** GET /v1/balance_transactions. */
export const listBalanceTransactions: Endpoint = (request, records) => {
  const isExpanded = readExpand(request.params, 'data.source')
  const page = listPage(request, records, 'balance_transaction', ['type', 'source'])
  if (!isExpanded) return page
  const { data, ...list } = page.body as { data: BalanceTransaction[] }
  const expandedData = data.map((movement) => expandSource(movement, records))
  return { ...page, body: { ...list, data: expandedData } }
}

/** GET /v1/balance_transactions/:id. */
export const retrieveBalanceTransaction: Endpoint = ({ objectId, params }, records) => {
  const isExpanded = readExpand(params, 'source')
  const movement = records.objects.find('balance_transaction', objectId)
  if (movement === undefined) throw noSuchObject('balance transaction', objectId, 'id')
  return { status: 200, body: isExpanded ? expandSource(movement, records) : movement }
}

/**
 * Adds the captured amount to the balance. The caller runs it in the transaction of the capture.
 */
export function saveCapture(
  intent: PaymentIntent,
  { objects }: Pick<Records, 'objects'>,
  nowMs: number,
): void {
  objects.save(movementOfCapture(intent, Math.floor(nowMs / 1000)))
}

/** Returns whether the request expands the property, the only one that can be expanded. */
function readExpand(params: Parameters, property: string): boolean {
  const expanded = readStrings(params, 'expand') ?? []
  const other = expanded.find((name) => name !== property)
  if (other !== undefined) {
    throw invalidParameter('expand', `This property cannot be expanded (${other}).`)
  }
  return expanded.length > 0
}

/** A source that a test removed stays an id. */
function expandSource(movement: BalanceTransaction, { objects }: Records): object {
  return { ...movement, source: findSource(movement, objects) ?? movement.source }
}

function findSource({ id, type, source }: BalanceTransaction, objects: Records['objects']) {
  if (type !== 'charge') return objects.find('refund', source)
  const intent = objects.findPaymentIntentOfCharge(source)
  if (intent === undefined) return undefined
  return { ...chargeOf(intent, objects.refundedAmount(intent.id)), balance_transaction: id }
}
