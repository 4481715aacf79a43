// The port to the payment provider. Every call takes the provider key that makes its repetition
// harmless. It never retries, never throws because of an answer of the provider, and returns one
// outcome.
import type { Done, NotExecuted, Outcome } from '../domain/operations/outcome.ts'
import type { MovementKind } from '../domain/ledger/ledger.ts'
import type { Cancellation, Hold, Payment } from '../domain/payments/payment.ts'
import type { Standing } from '../domain/payments/standing.ts'
import type { Dispute, DisputeStanding } from '../domain/payments/dispute.ts'
import type { Capabilities } from './capabilities.ts'
import type { Refund, RefundStanding } from '../domain/payments/refund.ts'

/** Money held on a card, or a card whose holder must authenticate first. */
export type Authorization =
  | ({ readonly status: 'held'; readonly providerPaymentId: string } & Hold)
  | {
      readonly status: 'requires_action'
      readonly providerPaymentId: string
      /** With it, the provider's script on the client's page authenticates the cardholder. */
      readonly clientSecret: string
    }

/** The captured part of the held money, in minor units. */
export interface Capture {
  readonly amountCapturedMinor: number
}

/** Where to look for the effect of a call whose answer was lost. */
export interface Trace {
  readonly operationId: string
  /** The earliest and the latest time at which the call can have been executed, by our clock. */
  readonly executedFrom: Date
  readonly executedTo: Date
  /** The provider's id of the payment, if one of its events or an operator named it. */
  readonly providerPaymentId: string | null
  /** The provider's id of the refund, if an operator named it. */
  readonly providerRefundId: string | null
}

/**
 * A payment in the provider's records. `standing` is undefined for a state that no payment of ours
 * can have.
 */
export interface ProviderPayment {
  readonly providerPaymentId: string
  readonly amountMinor: number
  readonly currency: string
  readonly standing: Standing | undefined
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
  readonly standing: RefundStanding | undefined
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

/**
 * Identifies a call at the provider. The provider key makes a repetition harmless: it is derived
 * from our row and the phase, never from the client's idempotency key. It changes only after the
 * provider may have kept a failure under it, in the transaction that concludes that nothing was
 * executed. The operation id is sent as metadata, so that the object can be found without the key.
 * Nothing may be sent after `sendBeforeMs` (by `performance.now()`): the lease of the caller ends then.
 */
export interface CallIdentity {
  readonly providerKey: string
  readonly operationId: string
  readonly sendBeforeMs: number
}

/** A call that moves money, and the look-up of its outcome when its answer was lost. */
export interface ProviderCall<Request, Value> {
  readonly execute: (request: Request, identity: CallIdentity) => Promise<Outcome<Value>>
  /**
   * Executes nothing. `done` and `declined`: the outcome of the executed call. `not_executed`: a
   * complete listing, or the state of its object, proves that it has had no effect so far; the
   * caller allows for a call that is still on its way. `unknown`: neither can be proved now;
   * `answered` has `looked: false` if the provider did not answer.
   */
  readonly find: (request: Request, trace: Trace) => Promise<Outcome<Value>>
}

/**
 * All calls that move money. The phase tables of the operations refer to these names. The circuit
 * breaker guards every member, including new ones. The comment of each call says what an adapter
 * must promise.
 */
export interface ProviderCalls {
  /**
   * Holds the amount of the payment on its payment method, without capturing it, or says that the
   * cardholder must authenticate.
   */
  readonly authorize: ProviderCall<{ readonly payment: Payment }, Authorization>
  /**
   * Captures exactly the amount in minor units, by default all of what was authorized, and releases
   * the rest. A refusal says whether the payment is canceled: if not, its money may still be held.
   */
  readonly capture: ProviderCall<
    { readonly payment: Payment; readonly amountMinor?: number | undefined },
    Capture
  >
  /**
   * Changes the held amount to a new total, in minor units. A decline changes nothing; it says
   * whether the payment is canceled.
   */
  readonly adjust: ProviderCall<{ readonly payment: Payment; readonly amountMinor: number }, Hold>
  /**
   * Releases the held amount, and ends the payment. A payment that is already canceled is `done`,
   * with the reason that it has; a captured one is `declined`.
   */
  readonly cancel: ProviderCall<
    { readonly payment: Payment; readonly reason?: string | null },
    Cancellation
  >
  /** Returns exactly the refund's amount to the customer, from the captured money. */
  readonly refund: ProviderCall<
    { readonly payment: Payment; readonly refund: Refund },
    RefundStanding
  >
}

export type CallName = keyof ProviderCalls

/**
 * What keeps a second execution, under another provider key, from moving money again: the state of
 * the object that the call changes; the capture, without which a second hold takes no money; or
 * nothing but the provider key.
 */
export const guardOf: Readonly<Record<CallName, 'state' | 'capture' | 'key'>> = {
  authorize: 'capture',
  capture: 'state',
  adjust: 'state',
  cancel: 'state',
  refund: 'key',
}
export type CallRequest<Name extends CallName> = Parameters<ProviderCalls[Name]['execute']>[0]
/** The result of the call of this name. */
export type CallValue<Name extends CallName> =
  ProviderCalls[Name] extends ProviderCall<infer _Request, infer Value> ? Value : never

export interface PaymentProvider {
  readonly name: string
  readonly capabilities: Capabilities
  readonly calls: ProviderCalls
  /** Reads the state of the payment. Executes nothing, so it is `done` or `not_executed`. */
  retrieve(payment: Payment): Promise<Done<Standing> | NotExecuted>
  /** Reads the state of the refund, in the same way. */
  retrieveRefund(refund: Refund): Promise<Done<RefundStanding> | NotExecuted>
  /** Reads the state of the dispute, in the same way. */
  retrieveDispute(dispute: Dispute): Promise<Done<DisputeStanding> | NotExecuted>

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
  readonly standing: DisputeStanding | undefined
  readonly createdAt: Date
  /** From the disputed payment: a dispute has metadata of its own. */
  readonly correlation: Correlation | null
}

/** The disputed payment, or the one that its bank suspects to be fraud. */
export type PaymentOfObject = Pick<ProviderDispute, 'providerPaymentId' | 'correlation'>
