// A dispute in the provider's records, and how it names our payment.
import type { DisputeStanding } from '../domain/payments/dispute.ts'
import type { Correlation } from './correlation.ts'

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
