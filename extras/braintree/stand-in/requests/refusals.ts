// Refuses requests as Braintree does: with a status that its package turns into an error, or with 422
// and the codes of validation errors.
import type { WireAnswer } from '../../../../dev/stand-in/wire.ts'
import { renderXml, type Member } from './xml.ts'

export const XML = 'application/xml; charset=utf-8'

/** A refused request. It may be thrown only before the first write. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly answer: WireAnswer

  constructor(answer: WireAnswer) {
    super(`refused with ${answer.status}`)
    this.answer = answer
  }
}

/** A status without a body that the package reads. */
export function refusedWith(status: number): Refusal {
  return new Refusal({ status, body: renderXml('message', ''), contentType: XML })
}

/** The codes and messages that the stand-in uses. */
const messages = {
  '81503': 'Amount is an invalid format.',
  '81528': 'Amount is too large.',
  '81531': 'Amount must be greater than zero.',
  '81715': 'Credit card number is invalid.',
  '91504':
    'Transaction can only be voided if status is authorized, submitted_for_settlement, or settlement_pending.',
  '91506': 'Cannot refund transaction unless it is settled.',
  '91507': 'Cannot submit for settlement unless status is authorized.',
  '91512': 'Transaction has already been fully refunded.',
  '91513': 'Merchant account ID is invalid.',
  '91516': 'Cannot provide a payment method token that does not belong to the customer.',
  '91521': 'Refund amount is too large.',
  '91522': 'Settlement amount is too large.',
  '91564': 'Cannot use a payment_method_nonce more than once.',
  '91565': 'Unknown or expired payment_method_nonce.',
  '915230': 'ApiRequestKey is too long.',
  '915231': 'ApiRequestKey is not allowed.',
  '915232':
    'An ApiRequestKey may only be reused with parameters identical to the original request.',
  '915233': 'A previous request with this ApiRequestKey is still in-flight.',
  '915234': 'A previous request with this ApiRequestKey failed and cannot be retried.',
  '915235': 'ApiRequestKey could not be processed.',
  '915218': 'Transaction must be in state authorized.',
  '95602': 'Failed authorization adjustment: hard decline.',
  '95606': 'No net amount to perform an authorization adjustment.',
} as const

export type ErrorCode = keyof typeof messages

/** 422: the request is invalid, or the state of its transaction refuses it. */
export function invalid(code: ErrorCode, transaction?: Member): Refusal {
  const error = { code, attribute: 'base', message: messages[code] }
  const members = {
    errors: { errors: [], transaction: { errors: [error] } },
    message: messages[code],
    ...(transaction !== undefined && { transaction }),
  }
  return new Refusal({
    status: 422,
    body: renderXml('apiErrorResponse', members),
    contentType: XML,
  })
}

/** 422: the transaction exists, and was refused by the processor or the gateway. */
export function refusedTransaction(transaction: Member, message: string): WireAnswer {
  const members = { errors: { errors: [] }, message, transaction }
  return { status: 422, body: renderXml('apiErrorResponse', members), contentType: XML }
}
