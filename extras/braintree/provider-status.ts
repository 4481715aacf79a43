// Reads where a payment or a refund stands at Braintree, from the status of its transaction.
import type { Failure, Hold } from '../../src/domain/payments/payment.ts'
import type { RefundProviderStatus } from '../../src/domain/payments/refund.ts'
import type { ProviderStatus } from '../../src/domain/payments/provider-status.ts'
import { fitText, fitTextOrNothing } from '../../src/provider/provider-text.ts'
import { readTime, type Transaction } from './transaction.ts'

/**
 * The statuses of a captured sale, from its submission on. Braintree takes the money hours later.
 * Until then a void undoes the capture. The settlement of a card is declined only rarely; then the
 * reconciliation finds that the payment is refused.
 */
export const CAPTURED: ReadonlySet<string> = new Set([
  'submitted_for_settlement',
  'settling',
  'settled',
  'settlement_confirmed',
])

/** The statuses of a transaction that has moved no money, and never will. */
const REFUSED: ReadonlySet<string> = new Set([
  'processor_declined',
  'gateway_rejected',
  'failed',
  'settlement_declined',
])

/**
 * Undefined in a state that no payment of ours can have.
 *
 * @see https://developer.paypal.com/braintree/docs/reference/general/statuses#transaction
 */
export function providerStatusOf(transaction: Transaction): ProviderStatus | undefined {
  const { type, status, amountMinor } = transaction
  if (type !== 'sale' || amountMinor === 0) return undefined
  if (CAPTURED.has(status)) return { status: 'captured', amountCapturedMinor: amountMinor }
  if (REFUSED.has(status)) return { status: 'refused', failure: failureOf(transaction) }
  switch (status) {
    case 'authorizing':
    case 'settlement_pending':
      return { status: 'undecided' }
    case 'authorized':
      return { status: 'held', ...holdOf(transaction) }
    case 'voided':
      return { status: 'canceled', reason: null }
    case 'authorization_expired':
      return { status: 'canceled', reason: 'expired' }
    default:
      return undefined
  }
}

export function holdOf({ members }: Transaction): Hold {
  return { captureBefore: readTime(members['authorizationExpiresAt']) ?? null }
}

/** A refund takes its money when it is settled: Braintree has no balance from which it leaves before. */
export function refundProviderStatusOf(transaction: Transaction): RefundProviderStatus | undefined {
  const { id: providerRefundId, type, status } = transaction
  if (type !== 'credit') return undefined
  if (REFUSED.has(status)) {
    return { providerRefundId, status: 'failed', failure: failureOf(transaction), moved: false }
  }
  switch (status) {
    case 'submitted_for_settlement':
    case 'settlement_pending':
    case 'settling':
      return { providerRefundId, status: 'pending', moved: false }
    case 'settlement_confirmed':
    case 'settled':
      return { providerRefundId, status: 'succeeded', moved: true }
    case 'voided':
      return { providerRefundId, status: 'canceled', moved: false }
    default:
      return undefined
  }
}

/**
 * Why it was refused: by the gateway, or by the processor in its code and text.
 *
 * @see https://developer.paypal.com/braintree/docs/reference/general/processor-responses/authorization-responses
 */
export function failureOf({ status, members }: Transaction): Failure {
  const isLate = status === 'settlement_declined'
  const code = fitTextOrNothing(members[`processor${isLate ? 'Settlement' : ''}ResponseCode`])
  const text = fitTextOrNothing(members[`processor${isLate ? 'Settlement' : ''}ResponseText`])
  const rejection = fitTextOrNothing(members['gatewayRejectionReason'])
  if (status === 'gateway_rejected') {
    const message = `The gateway has rejected it: ${rejection ?? 'for no named reason'}.`
    return { code: status, declineCode: rejection ?? null, message }
  }
  const message = text ?? `The transaction is ${fitText(status)}.`
  return { code: fitText(status), declineCode: code ?? null, message }
}
