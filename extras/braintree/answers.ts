// Decides what an answer of Braintree proves. An answer counts only if it confirms the request: the
// same payment, amount, currency and status. A refusal counts only if it would be repeated.
import type { Declined, Outcome } from '../../src/domain/operations/outcome.ts'
import type { Failure, Payment } from '../../src/domain/payments/payment.ts'
import { unknown, type CallDescription } from '../../src/provider/call-outcomes.ts'
import { isJson, type Json, fitText, fitTextOrNothing } from '../../src/provider/provider-text.ts'
import type { Exchange } from './http/watched-agent.ts'
import { failureOf, refundProviderStatusOf, providerStatusOf } from './provider-status.ts'
import { describeTransaction, readTransaction, type Transaction } from './transaction.ts'

export const MISMATCH = 'the answer does not match the request'

/**
 * The codes that an earlier try of the same call can have caused: the transaction is in another state,
 * or has the asked amount already.
 */
const UNCLEAR: ReadonlySet<string> = new Set([
  '91504',
  '91507',
  '915218',
  '95606',
  // The request key was used with other parameters, is in use, or could not be checked.
  '915232',
  '915233',
  '915235',
])

/** An earlier call with this request key failed, and that stays its result. */
const KEY_OF_FAILURE = '915234'

/** The request key is too long, or the account has none: nothing was processed. */
const KEY_REFUSED: ReadonlySet<string> = new Set(['915230', '915231'])

/** The codes that end by themselves: a nonce that is in use, a capture that is not settled yet. */
const TEMPORARY: ReadonlySet<string> = new Set(['91566', '91506', '91574'])

/** What the transaction of a successful answer proves; undefined when it does not match. */
export type Confirm<Value> = (transaction: Transaction) => Value | undefined

/** The outcome of a call, from the answer that the package returned. */
export function explainAnswer<Value>(
  answer: unknown,
  { status }: Exchange,
  asked: CallDescription,
  confirm: Confirm<Value>,
): Outcome<Value> {
  const result = isJson(answer) ? answer : {}
  const transaction = readTransaction(result['transaction'])
  const answered = { status, ...describeTransaction(result['transaction']) }
  if (result['success'] !== true) return explainRefusal(result, transaction, asked, answered)
  const value = transaction && confirm(transaction)
  if (value !== undefined) return { outcome: 'done', value, asked, answered }
  // A repetition with the same key succeeds, also if what it repeats was refused.
  const { order_id: orderId } = asked
  return orderId !== undefined && transaction?.orderId === orderId && isRefusedSale(transaction)
    ? explainRefusedTransaction(transaction, asked, answered)
    : unknown(asked, answered, MISMATCH)
}

function isRefusedSale(transaction: Transaction | undefined): transaction is Transaction {
  return transaction !== undefined && providerStatusOf(transaction)?.status === 'refused'
}

function explainRefusal(
  result: Json,
  transaction: Transaction | undefined,
  asked: CallDescription,
  described: CallDescription,
): Outcome<never> {
  const [code, ...others] = codesIn(result)
  const message = fitTextOrNothing(result['message']) ?? 'refused'
  const answered = { ...described, code, message }
  if (code !== undefined) {
    const codes = [code, ...others]
    if (codes.includes(KEY_OF_FAILURE)) {
      return { ...unknown(asked, answered, message), storedFailure: 'certain' }
    }
    if (codes.some((each) => UNCLEAR.has(each))) return unknown(asked, answered, message)
    if (codes.some((each) => KEY_REFUSED.has(each))) {
      return { outcome: 'not_executed', reason: message, retryLater: true, asked, answered }
    }
    if (codes.some((each) => TEMPORARY.has(each))) {
      const waits = { aboutObject: true, retryLater: true } as const
      return { outcome: 'not_executed', reason: message, ...waits, asked, answered }
    }
    return declined({ code: fitText(code), declineCode: null, message }, null, asked, answered)
  }
  if (transaction === undefined) return unknown(asked, answered, MISMATCH)
  return explainRefusedTransaction(transaction, asked, answered)
}

/** A transaction that was refused. As a duplicate it says that there may be another one. */
export function explainRefusedTransaction(
  transaction: Transaction,
  asked: CallDescription,
  answered: CallDescription,
): Outcome<never> {
  if (isDuplicate(transaction)) return unknown(asked, answered, 'refused as a duplicate')
  const providerStatus =
    providerStatusOf(transaction)?.status ?? refundProviderStatusOf(transaction)?.status
  if (providerStatus !== 'refused' && providerStatus !== 'failed')
    return unknown(asked, answered, MISMATCH)
  return declined(failureOf(transaction), transaction, asked, answered)
}

export function isDuplicate({ status, members }: Transaction): boolean {
  return status === 'gateway_rejected' && members['gatewayRejectionReason'] === 'duplicate'
}

export function declined(
  failure: Failure,
  transaction: Transaction | null,
  asked: CallDescription,
  answered: CallDescription,
): Declined {
  const providerPaymentId = transaction?.type === 'sale' ? transaction.id : null
  return { outcome: 'declined', failure, providerPaymentId, asked, answered }
}

/** The codes of the validation errors, at any depth. */
function codesIn({ errors }: Json): string[] {
  if (!isJson(errors) || typeof errors['deepErrors'] !== 'function') return []
  const found: unknown = (errors as unknown as { deepErrors(): unknown }).deepErrors()
  const list: unknown[] = Array.isArray(found) ? found : []
  return list.flatMap((error) => (isJson(error) ? String(error['code']) : []))
}

/** Whether it is the sale of this payment, regardless of its amount. */
export function isSaleOf(payment: Payment, transaction: Transaction): boolean {
  const { type, currency, correlation } = transaction
  return (
    type === 'sale' &&
    currency === payment.currency &&
    correlation?.tenantId === payment.tenantId &&
    correlation.paymentId === payment.id
  )
}
