// What the calls share: keys and refusals before they are sent, and looks at the transaction that a call has
// created or changed.
import type { Outcome, Unknown } from '../../../src/domain/operations/outcome.ts'
import type { Payment } from '../../../src/domain/payments/payment.ts'
import type { ProviderStatus } from '../../../src/domain/payments/provider-status.ts'
import {
  providerPaymentIdOf,
  unknown,
  type CallDescription,
} from '../../../src/provider/call-outcomes.ts'
import type { AdapterCall, CallName } from '../../../src/provider/calls.ts'
import { declined, isSaleOf } from '../answers.ts'
import { type Connection, within } from '../connection.ts'
import { classifyBraintreeError, isMissing } from '../errors.ts'
import type { Exchange } from '../http/watched-agent.ts'
import { providerStatusOf } from '../provider-status.ts'
import {
  describeTransaction,
  isTransactionId,
  readTransaction,
  type Transaction,
} from '../transaction.ts'

export type BraintreeCall<Name extends CallName> = AdapterCall<Connection, Name>

/** An adjustment takes no key. An account without keys refuses a call that has one. */
export function keyOf({ sendsKeys }: Connection, providerKey: string) {
  return sendsKeys ? { apiRequestKey: providerKey } : {}
}

/** The service accepts no such amount. If one comes here nevertheless, it is not rounded. */
export function refuseAmount(asked: Readonly<Record<string, unknown>>) {
  const message = 'Braintree cannot express this amount in the currency.'
  const failure = { code: 'amount_not_supported', declineCode: null, message }
  return declined(failure, null, asked, { error: 'not sent' })
}

/** Whether it is the sale that the payment uses. */
export function isUsedBy(payment: Payment, transaction: Transaction): boolean {
  return isSaleOf(payment, transaction) && transaction.id === payment.providerPaymentId
}

/** Undefined if another amount is held than that of the payment. */
function providerStatusIn(
  { amountMinor }: Payment,
  transaction: Transaction,
): ProviderStatus | undefined {
  const providerStatus = providerStatusOf(transaction)
  const isOther = providerStatus?.status === 'held' && transaction.amountMinor !== amountMinor
  return isOther ? undefined : providerStatus
}

/** Reads the transaction of a payment that the provider already knows: its absence proves nothing. */
export async function findChange<Value>(
  connection: Connection,
  payment: Payment,
  explain: (
    transaction: Transaction,
    providerStatus: ProviderStatus | undefined,
    asked: CallDescription,
    answered: CallDescription,
  ) => Outcome<Value>,
): Promise<Outcome<Value>> {
  const id = providerPaymentIdOf(payment)
  const outcome = await lookAt(connection, id, (transaction, asked, answered) =>
    isSaleOf(payment, transaction) && transaction.id === id
      ? explain(transaction, providerStatusIn(payment, transaction), asked, answered)
      : unknown(asked, answered, FOUND_MISMATCH),
  )
  const asked = { call: 'transaction.find', transaction_id: id }
  return outcome ?? unknown(asked, { looked: false }, `there is no transaction ${id}`)
}

export const FOUND_MISMATCH = 'the transaction that was found does not match the request'

/** Undefined when there is no such transaction, or when `explain` says that it is not the one. */
export async function lookAt<Value>(
  connection: Connection,
  id: string | null,
  explain: (
    transaction: Transaction,
    asked: CallDescription,
    answered: CallDescription,
  ) => Outcome<Value> | undefined,
): Promise<Outcome<Value> | undefined> {
  if (!isTransactionId(id)) return undefined
  const asked = { call: 'transaction.find', transaction_id: id }
  const exchange: Exchange = {}
  try {
    const found = await within(connection, exchange, () => connection.gateway.transaction.find(id))
    const transaction = readTransaction(found)
    const answered = { status: exchange.status, ...describeTransaction(found) }
    if (transaction === undefined) return unknown(asked, answered, FOUND_MISMATCH)
    return explain(transaction, asked, answered)
  } catch (error) {
    return isMissing(error) ? undefined : unclear(error, exchange, asked)
  }
}

/** The outcome of a failed lookup: it proves nothing about the call. */
export function unclear(error: unknown, exchange: Exchange, asked: CallDescription): Unknown {
  const failed = classifyBraintreeError(error, exchange, asked)
  return unknown(asked, { ...failed.answered, looked: false }, failed.reason)
}
