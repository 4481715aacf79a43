// Implements POST /v1/refunds (https://docs.stripe.com/api/refunds). The refunds of a
// payment never exceed its captured amount.
import type { Endpoint } from '../requests/endpoint.ts'
import { movementOfRefund } from '../balance/balance-transaction.ts'
import { refuseFraction } from '../payment-intents/charge-amounts.ts'
import { chargeOf } from '../payment-intents/charge.ts'
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'
import {
  readAmount,
  readChoice,
  readMetadata,
  readString,
  type Parameters,
} from '../requests/parameters.ts'
import { behaviorOf } from '../customers/saved-methods.ts'
import { newRefund, refundReasons } from './refund.ts'
import type { Records } from '../storage.ts'
import { endInquiries, endWarnings } from '../disputes/move-dispute.ts'
import { missingParameter, noSuchObject, refusedByState } from '../requests/stripe-errors.ts'

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
  refuseDisputed(intent, records)
  const created = Math.floor(nowMs / 1000)
  const later = behaviorOf(intent, records)?.refund
  const unlinked = newRefund(intent, { amount, reason, metadata, created }, later?.begins)
  const movement = movementOfRefund(unlinked)
  const refund = { ...unlinked, balance_transaction: movement.id }
  records.objects.save(refund)
  records.objects.save(movement)
  if (later !== undefined) {
    records.timetable.plan(nowMs + SETTLES_AFTER_MS, { refund: refund.id, status: later.ends })
  }
  records.executed.append(request, 'refund.create', refund, amount)
  records.events.append(request, 'refund.created', refund)
  records.events.append(request, 'charge.refunded', chargeOf(intent, records))
  records.events.append(request, 'refund.updated', refund, refund)
  const isWhole = records.objects.refundedAmount(intent.id) === intent.amount_received
  if (isWhole) {
    endWarnings(records, request, intent.id)
    endInquiries(records, request, intent.id)
  }
  return { status: 200, body: refund }
}

function findPayment(params: Parameters, { objects }: Records): PaymentIntent {
  const intentId = readString(params, 'payment_intent')
  const chargeId = readString(params, 'charge')
  if (intentId !== undefined) return objects.get('payment_intent', intentId, 'payment_intent')
  if (chargeId === undefined) {
    const message =
      'One of the following params should be provided for this request: payment_intent or charge.'
    throw missingParameter('payment_intent', message)
  }
  const intent = objects.findPaymentIntentOfCharge(chargeId)
  if (intent === undefined) throw noSuchObject('charge', chargeId, 'charge')
  return intent
}

/** An inquiry refuses no refund: a full one ends it. */
function refuseDisputed({ id, latest_charge }: PaymentIntent, { objects }: Records): void {
  const disputes = objects.list('dispute', { filters: { payment_intent: id } }).data
  if (disputes.every((dispute) => dispute.is_charge_refundable)) return
  const charge = String(latest_charge)
  const message = `Charge ${charge} has been charged back; cannot issue a refund.`
  throw refusedByState(message, { code: 'charge_disputed', charge })
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
  const left = intent.amount - objects.refundedAmount(intent.id)
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
