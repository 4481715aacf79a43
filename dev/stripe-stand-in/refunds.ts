// Implements the endpoints of /v1/refunds (https://docs.stripe.com/api/refunds). The refunds of a
// payment never exceed its captured amount.
import type { Endpoint } from './api-request.ts'
import { movementOfRefund } from './balance-transaction.ts'
import { refuseFraction } from './charge-amounts.ts'
import { chargeOf } from './event.ts'
import { listPage } from './list-page.ts'
import type { PaymentIntent } from './payment-intent.ts'
import { readAmount, readChoice, readMetadata, readString, type Parameters } from './parameters.ts'
import { findPaymentMethod } from './payment-methods.ts'
import { newRefund, refundReasons } from './refund.ts'
import type { Records } from './storage.ts'
import { missingParameter, noSuchObject, refusedByState } from './stripe-errors.ts'

/** Stripe says "some time later": https://docs.stripe.com/testing#refunds */
const SETTLES_AFTER_MS = 5_000

/** POST /v1/refunds. Refunds the whole remaining amount unless `amount` is set. */
export const createRefund: Endpoint = (request, records) => {
  const { params, nowMs } = request
  const asked = readAmount(params, 'amount')
  const reason = readChoice(params, 'reason', refundReasons) ?? null
  const metadata = readMetadata(params)
  const intent = findPayment(params, records)
  const amount = refundableAmount(intent, asked, records)
  refuseFraction(amount, intent.currency)
  const created = Math.floor(nowMs / 1000)
  const later = findPaymentMethod(intent.payment_method ?? '')?.refund
  const unlinked = newRefund(intent, { amount, reason, metadata, created }, later?.begins)
  const movement = movementOfRefund(unlinked)
  const refund = { ...unlinked, balance_transaction: movement.id }
  records.objects.save(refund)
  records.objects.save(movement)
  if (later !== undefined) {
    records.timetable.plan(nowMs + SETTLES_AFTER_MS, { refund: refund.id, status: later.ends })
  }
  const { id, currency } = refund
  records.executed.append(request, { kind: 'refund.create', id, amount, currency, metadata })
  const charge = chargeOf(intent, records.objects.refundedAmount(intent.id))
  records.events.append(request, 'refund.created', refund)
  records.events.append(request, 'charge.refunded', charge)
  records.events.append(request, 'refund.updated', refund)
  return { status: 200, body: refund }
}

/** GET /v1/refunds/:id. */
export const retrieveRefund: Endpoint = ({ objectId }, { objects }) => {
  const refund = objects.find('refund', objectId)
  if (refund === undefined) throw noSuchObject('refund', objectId, 'id')
  return { status: 200, body: refund }
}

/** GET /v1/refunds. */
export const listRefunds: Endpoint = (request, records) =>
  listPage(request, records, 'refund', ['payment_intent', 'charge'])

function findPayment(params: Parameters, { objects }: Records): PaymentIntent {
  const intentId = readString(params, 'payment_intent')
  const chargeId = readString(params, 'charge')
  if (intentId !== undefined) {
    const intent = objects.find('payment_intent', intentId)
    if (intent === undefined) throw noSuchObject('payment_intent', intentId, 'payment_intent')
    return intent
  }
  if (chargeId === undefined) {
    const message =
      'One of the following params should be provided for this request: payment_intent or charge.'
    throw missingParameter('payment_intent', message)
  }
  const intent = objects.findPaymentIntentOfCharge(chargeId)
  if (intent === undefined) throw noSuchObject('charge', chargeId, 'charge')
  return intent
}

/** Returns the requested amount, or the whole remaining amount. Refuses a larger amount. */
function refundableAmount(
  intent: PaymentIntent,
  asked: number | undefined,
  { objects }: Records,
): number {
  if (intent.status !== 'succeeded') {
    const message = `This PaymentIntent (${intent.id}) does not have a successful charge to refund.`
    const code = 'payment_intent_unexpected_state'
    throw refusedByState(message, { code, payment_intent: intent })
  }
  const charge = String(intent.latest_charge)
  const left = intent.amount_received - objects.refundedAmount(intent.id)
  if (left === 0) {
    const message = `Charge ${charge} has already been refunded.`
    throw refusedByState(message, { code: 'charge_already_refunded', charge })
  }
  if (asked !== undefined && asked > left) {
    const currency = intent.currency.toUpperCase()
    const message =
      `Refund amount (${asked} ${currency}) is greater than unrefunded amount on charge ` +
      `(${left} ${currency})`
    throw refusedByState(message, { param: 'amount', charge })
  }
  return asked ?? left
}
