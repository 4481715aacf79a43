// What the server of the page answers.

/** The charges that the stand-in executed, beside the payments that the service knows. */
export interface Counts {
  /** Counted after the payments, and so may be ahead while payments are made. */
  readonly provider_executed: number
  /** The payments that the service recorded as charged. */
  readonly payments: number
  /** Payments whose outcome is not known yet. When it is 0, the two counts are equal. */
  readonly in_progress: number
  readonly charged_twice: number
  /** The payments that the traffic will still make. */
  readonly traffic_left: number
}

/** The answer of the service to a payment, with its body as it was sent. */
export interface PaymentAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}
