// Implements the endpoints of /v1/payment_intents (https://docs.stripe.com/api/payment_intents).
import type { ApiRequest } from '../requests/api-request.ts'
import type { Answer, Endpoint } from '../requests/endpoint.ts'
import { saveCapture } from '../balance/balance-transactions.ts'
import { refuseFraction, refuseLargeCharge } from './charge-amounts.ts'
import type { ExecutedKind } from '../requests/executed-log.ts'
import { eventTypeOf } from '../webhooks/event.ts'
import { captureBeforeOf } from './holds.ts'
import { actAfterCapture } from '../disputes/move-dispute.ts'
import {
  cancelIntent,
  cancellationReasons,
  captureIntent,
  confirmIntent,
  incrementIntent,
  newPaymentIntent,
  type PaymentIntent,
} from './payment-intent.ts'
import { refuseEndedHold, refuseUnlessAllowed, unexpectedState } from './payment-intent-refusals.ts'
import { readTerms } from './payment-intent-terms.ts'
import type { CaptureRefusal, Decline } from './payment-methods.ts'
import { readCustomer } from '../customers/customers.ts'
import {
  behaviorOf,
  cardOf,
  findSavedMethod,
  readMethod,
  usedMethod,
} from '../customers/saved-methods.ts'
import type { SavedMethod } from '../customers/saved-method.ts'
import {
  readAmount,
  readBoolean,
  readChoice,
  readMetadata,
  readObject,
  readString,
  requireAmount,
  type Parameters,
} from '../requests/parameters.ts'
import type { Records } from '../storage.ts'
import {
  errorBody,
  invalidParameter,
  missingParameter,
  refusedByState,
} from '../requests/stripe-errors.ts'

const NO_METHOD =
  "You cannot confirm this PaymentIntent because it's missing a payment method. You can either " +
  'update the PaymentIntent with a payment method and then confirm it again, or confirm it again ' +
  'directly with a payment method.'

/** POST /v1/payment_intents. With `confirm=true` the intent is paid at once. */
export const createPaymentIntent: Endpoint = (request, records) => {
  const { params, nowMs } = request
  const customer = readCustomer(params, records)
  const method = readMethod(params, records, { nowMs, customer })
  const terms = readTerms(params, { customer, payment_method: method?.id ?? null })
  const intent = newPaymentIntent(terms, toSeconds(nowMs))
  const confirm = readBoolean(params, 'confirm')
  if (confirm && method === undefined) throw missingParameter('payment_method', NO_METHOD)
  if (confirm) requireReturnUrl(params)
  records.events.append(request, 'payment_intent.created', intent)
  if (confirm && method !== undefined) {
    return pay(request, records, intent, method, 'payment_intent.create')
  }
  if (method !== undefined) records.objects.save(method)
  records.objects.save(intent)
  return { status: 200, body: intent }
}

/** POST /v1/payment_intents/:id/confirm. The request may name another payment method. */
export const confirmPaymentIntent: Endpoint = (request, records) => {
  const { params, nowMs } = request
  const intent = records.objects.get('payment_intent', request.objectId)
  refuseUnlessAllowed('confirm', intent)
  requireReturnUrl(params)
  const { customer, payment_method: present } = intent
  const method =
    readMethod(params, records, { nowMs, customer, intent }) ??
    findSavedMethod(present ?? '', records, nowMs)
  if (method === undefined) throw unexpectedState(intent, NO_METHOD)
  return pay(request, records, intent, method, 'payment_intent.confirm')
}

/** POST /v1/payment_intents/:id/capture. Captures all unless `amount_to_capture` is set. */
export const capturePaymentIntent: Endpoint = (request, records) => {
  const requestedAmount = readAmount(request.params, 'amount_to_capture')
  const metadata = readMetadata(request.params)
  const intent = records.objects.get('payment_intent', request.objectId)
  refuseUnlessAllowed('capture', intent)
  if (readChoice(request.params, 'final_capture', ['true', 'false']) === 'false') {
    const message = 'Multicapture is not available for this PaymentIntent.'
    throw refusedByState(message, { param: 'final_capture' })
  }
  refuseEndedHold(records.holds.captureBefore(intent.id), request.nowMs)
  const amount = requestedAmount ?? intent.amount_capturable
  refuseFraction(amount, intent.currency, 'amount_to_capture')
  if (amount > intent.amount_capturable) {
    const message =
      'The payment could not be captured because the requested capture amount is greater than ' +
      'the amount you can capture for this charge.'
    throw refusedByState(message, { code: 'amount_too_large', param: 'amount_to_capture' })
  }
  const refusal = behaviorOf(intent, records)?.capture
  if (refusal !== undefined && amount < (refusal.below ?? Infinity)) {
    return refuseCapture(request, records, intent, refusal)
  }
  const described = { ...intent, metadata: { ...intent.metadata, ...metadata } }
  const captured = captureIntent(described, amount)
  return execute(request, records, captured, 'payment_intent.capture', amount)
}

/** What ends the intent happens before the refusal, and not by this request. */
function refuseCapture(
  request: ApiRequest,
  records: Records,
  intent: PaymentIntent,
  { code, message, leaves }: CaptureRefusal,
): Answer {
  const elsewhere = { ...request, idempotencyKey: undefined }
  const { amount } = intent
  if (leaves === 'expired') {
    const expired = cancelIntent(intent, 'expired', toSeconds(request.nowMs))
    execute(elsewhere, records, expired, 'payment_intent.cancel', amount)
  }
  if (leaves === 'captured') {
    execute(elsewhere, records, captureIntent(intent, amount), 'payment_intent.capture', amount)
  }
  return { status: 400, body: errorBody({ type: 'invalid_request_error', code, message }) }
}

/** Stripe counts declined attempts too; the stand-in counts those that succeeded. */
const INCREMENTS_MAX = 10

/**
 * POST /v1/payment_intents/:id/increment_authorization. `amount` is the new total, which must be greater than
 * the present one. A decline changes nothing
 * (https://docs.stripe.com/api/payment_intents/increment_authorization).
 */
export const incrementAuthorization: Endpoint = (request, records) => {
  const amount = requireAmount(request.params, 'amount')
  const metadata = readMetadata(request.params)
  const intent = records.objects.get('payment_intent', request.objectId)
  refuseUnlessAllowed('increment', intent)
  if (intent.payment_method_options.card.request_incremental_authorization !== 'if_available') {
    const message = 'This PaymentIntent is not eligible for incremental authorization.'
    throw refusedByState(message, { code: 'charge_not_eligible' })
  }
  if (amount <= intent.amount) {
    const message = 'The amount must be greater than the currently authorized amount.'
    throw refusedByState(message, { code: 'amount_too_small', param: 'amount' })
  }
  if (
    records.executed.count('payment_intent.increment_authorization', intent.id) >= INCREMENTS_MAX
  ) {
    const message =
      'This PaymentIntent has reached the maximum number of incremental authorizations.'
    throw refusedByState(message, {})
  }
  refuseLargeCharge(amount, intent.currency)
  refuseFraction(amount, intent.currency)
  const decline = behaviorOf(intent, records)?.increment
  if (decline !== undefined) return declineIncrement(intent, decline)
  const described = { ...intent, metadata: { ...intent.metadata, ...metadata } }
  const raised = incrementIntent(described, amount)
  return execute(request, records, raised, 'payment_intent.increment_authorization', amount)
}

function declineIncrement(intent: PaymentIntent, { code, declineCode, message }: Decline): Answer {
  const bankCode = declineCode && { decline_code: declineCode }
  const error = { type: 'card_error', code, ...bankCode, message } as const
  return { status: 402, body: errorBody({ ...error, payment_intent: intent }) }
}

/** POST /v1/payment_intents/:id/cancel. */
export const cancelPaymentIntent: Endpoint = (request, records) => {
  const reason = readChoice(request.params, 'cancellation_reason', cancellationReasons)
  const intent = records.objects.get('payment_intent', request.objectId)
  refuseUnlessAllowed('cancel', intent)
  const canceled = cancelIntent(intent, reason, toSeconds(request.nowMs))
  return execute(request, records, canceled, 'payment_intent.cancel', intent.amount_capturable)
}

function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}

/**
 * With the default payment methods, since 2023-08-16. Whether a list of allowed types lifts it is not
 * documented.
 */
function requireReturnUrl(params: Parameters): void {
  const methods = readObject(params, 'automatic_payment_methods')
  const isExempt = isOffSession(params) || methods['allow_redirects'] === 'never'
  if (isExempt || readString(params, 'return_url') !== undefined) return
  const message =
    'This PaymentIntent is configured to accept payment methods enabled in your Dashboard. Because ' +
    'some of these payment methods might redirect your customer off of your page, you must provide a ' +
    "`return_url`. If you don't want to accept redirect-based payment methods, set " +
    '`automatic_payment_methods[enabled]` to `true` and `automatic_payment_methods[allow_redirects]` ' +
    'to `never` when creating Setup Intents and Payment Intents.'
  throw invalidParameter('return_url', message)
}

const isOffSession = (params: Parameters) =>
  (readString(params, 'off_session') ?? 'false') !== 'false'

/** Pays with the method. A decline is a normal result, which the intent stores. */
function pay(
  request: ApiRequest,
  records: Records,
  intent: PaymentIntent,
  method: SavedMethod,
  kind: ExecutedKind,
): Answer {
  const { params } = request
  const isAbsent = isOffSession(params)
  const canAuthenticate = !isAbsent && !readBoolean(params, 'error_on_requires_action')
  const used = usedMethod(method)
  records.objects.save(used)
  const result = confirmIntent(intent, cardOf(used), canAuthenticate)
  if (result.status === 'requires_capture') {
    records.holds.set(
      result.id,
      captureBeforeOf(method.metadata.test_card, isAbsent, request.nowMs),
    )
  }
  if (result.status === 'succeeded' || result.status === 'requires_capture') {
    return execute(request, records, result, kind, result.amount)
  }
  save(request, records, result)
  if (result.last_payment_error === null) return { status: 200, body: result }
  return { status: 402, body: errorBody({ ...result.last_payment_error, payment_intent: result }) }
}

function execute(
  request: ApiRequest,
  records: Records,
  intent: PaymentIntent,
  kind: ExecutedKind,
  amount: number,
): Answer {
  save(request, records, intent)
  // An intent gets here as succeeded only once: no endpoint executes on a succeeded intent.
  if (intent.status === 'succeeded') saveCapture(intent, records, request)
  records.executed.append(request, kind, intent, amount)
  if (intent.status === 'succeeded') actAfterCapture(records, request, intent)
  return { status: 200, body: intent }
}

/** Stores the new state of an intent together with its event. */
function save(request: ApiRequest, { objects, events }: Records, intent: PaymentIntent): void {
  objects.save(intent)
  const type = eventTypeOf(intent)
  if (type !== undefined) events.append(request, type, intent)
}
