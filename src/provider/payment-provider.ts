// The port to the payment provider. A call never retries, never throws because of an answer of the
// provider, and returns one outcome.
import type { Done, NotExecuted } from '../domain/operations/outcome.ts'
import type { MovementKind } from '../domain/ledger/ledger.ts'
import type { Payment } from '../domain/payments/payment.ts'
import type { ProviderStatus } from '../domain/payments/provider-status.ts'
import type { Dispute, DisputeProviderStatus } from '../domain/payments/dispute.ts'
import type { ProviderCalls } from './calls.ts'
import type { Capabilities } from './capabilities.ts'
import type { Refund, RefundProviderStatus } from '../domain/payments/refund.ts'

/**
 * A payment in the provider's records. `providerStatus` is undefined for a state that no payment of ours
 * can have.
 */
export interface ProviderPayment {
  readonly providerPaymentId: string
  readonly amountMinor: number
  readonly currency: string
  readonly providerStatus: ProviderStatus | undefined
  readonly createdAt: Date
  readonly correlation: Correlation | null
}

/** A refund in the provider's records. */
export interface ProviderRefund {
  readonly providerRefundId: string
  readonly providerPaymentId: string | null
  readonly amountMinor: number
  readonly currency: string
  /** Undefined in a state that no refund of ours can have. */
  readonly providerStatus: RefundProviderStatus | undefined
  readonly createdAt: Date
  readonly correlation: Correlation | null
}

/** A fee for a movement, in the currency of the balance. Negative when it is returned. */
interface ProviderFee {
  readonly amountMinor: number
  readonly currency: string
}

/**
 * Money of a payment that moved on the provider's balance; positive amounts in minor units, before
 * fees.
 */
export interface ProviderMovement {
  readonly movementId: string
  /** `refund_failure` returns the money of a refund that failed or was canceled. */
  readonly kind: MovementKind
  readonly amountMinor: number
  readonly currency: string
  readonly fee: ProviderFee
  /** The payment that was captured or refunded. */
  readonly providerPaymentId: string | null
  /** Null unless a refund moved it. */
  readonly providerRefundId: string | null
  /** Null unless a dispute moved it. */
  readonly providerDisputeId: string | null
  readonly createdAt: Date
  /** From the metadata of the charge or refund that moved. */
  readonly correlation: Correlation | null
}

/**
 * Any other movement on the provider's balance. `account`: it concerns the account as a whole, for
 * example a payout. `unknown`: the adapter cannot say what moved.
 */
export interface OtherMovement {
  readonly movementId: string
  readonly kind: 'account' | 'unknown'
  /** What the provider calls it. */
  readonly category: string
  readonly type: string
  /** In minor units and the currency of the balance; negative when money leaves the balance. */
  readonly amountMinor: number
  readonly currency: string
  readonly fee: ProviderFee
  /** The provider's id of what moved, and the payment to which it belongs. */
  readonly sourceId: string | null
  readonly providerPaymentId: string | null
  readonly createdAt: Date
  readonly correlation: Correlation | null
}

/** A window of the provider's records by creation time, without its end. */
export interface Window {
  readonly from: Date
  readonly to: Date
}

/** Called before a failed page is requested again. Throws to end the list instead. */
export type OnRepeat = (failure: unknown) => void

export interface PaymentProvider {
  readonly name: string
  readonly capabilities: Capabilities
  readonly calls: ProviderCalls
  /** Reads the state of the payment. Executes nothing, so it is `done` or `not_executed`. */
  retrieve(payment: Payment): Promise<Done<ProviderStatus> | NotExecuted>
  /** Reads the state of the refund, in the same way. */
  retrieveRefund(refund: Refund): Promise<Done<RefundProviderStatus> | NotExecuted>
  /** Reads the state of the dispute, in the same way. */
  retrieveDispute(dispute: Dispute): Promise<Done<DisputeProviderStatus> | NotExecuted>

  /**
   * The account whose records the secret key sees, and its mode, such as `acct_1 live`. Undefined if
   * the key may not read it.
   *
   * @throws the errors of the connection.
   */
  readAccount(): Promise<string | undefined>

  // The provider's records of a window, page by page, newest first. They throw the errors of the
  // connection, and when a record makes no sense; the reconciliation then starts again. The
  // provider's times may be in whole seconds, so a window is widened to whole seconds. A page is
  // requested again after a temporary failure, because a list executes nothing.
  listPayments(window: Window, onRepeat?: OnRepeat): AsyncIterable<readonly ProviderPayment[]>
  listRefunds(window: Window, onRepeat?: OnRepeat): AsyncIterable<readonly ProviderRefund[]>
  listDisputes(window: Window, onRepeat?: OnRepeat): AsyncIterable<readonly ProviderDispute[]>
  /**
   * Every movement, none left out. A capture is one movement of the captured amount, however the
   * provider books it.
   */
  listMovements(
    window: Window,
    onRepeat?: OnRepeat,
  ): AsyncIterable<readonly (ProviderMovement | OtherMovement)[]>
  /** The record with this id; undefined if the provider has none. */
  readPayment(providerPaymentId: string): Promise<ProviderPayment | undefined>
  readRefund(providerRefundId: string): Promise<ProviderRefund | undefined>
  readDispute(providerDisputeId: string): Promise<ProviderDispute | undefined>
  /** The payment of an early fraud warning. */
  readEarlyFraudWarning(warningId: string): Promise<PaymentOfObject | undefined>
}

export interface Correlation {
  readonly tenantId: string
  readonly paymentId: string
  readonly refundId: string | null
  readonly operationId: string
}

/** A dispute in the provider's records. */
export interface ProviderDispute {
  readonly providerDisputeId: string
  readonly providerPaymentId: string | null
  /** Undefined in a state that is not known here. */
  readonly providerStatus: DisputeProviderStatus | undefined
  readonly createdAt: Date
  /** From the disputed payment: a dispute has metadata of its own. */
  readonly correlation: Correlation | null
}

/** The disputed payment, or the one that its bank suspects to be fraud. */
export type PaymentOfObject = Pick<ProviderDispute, 'providerPaymentId' | 'correlation'>
