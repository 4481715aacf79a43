// What operators know about an unknown outcome.

/**
 * What an operator stated about an unknown outcome: the id of the created object, or that there is
 * none. The next look-up judges it, and it is dropped then.
 */
export interface Evidence {
  /** The entry of the audit trail with the statement. */
  readonly claim: string
  /** It did not happen. Not a proof by itself: the look-up decides. */
  readonly proved_absent?: true
  /** Two operators state that it did not happen, even if no look-up is possible. */
  readonly unverified?: true
  readonly provider_payment_id?: string
  readonly provider_refund_id?: string
  readonly by: string
  readonly note: string
}
