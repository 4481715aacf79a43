// Defines the shape of one row in the tables of problem types.

type StripeErrorType =
  | 'api_error'
  | 'authentication_error'
  | 'card_error'
  | 'idempotency_error'
  | 'invalid_request_error'

export interface ProblemDefinition {
  readonly status: number
  readonly title: string
  /** What happened and what the caller should do; shown on the page at the problem's `type` URI. */
  readonly meaning: string
  readonly stripeType: StripeErrorType
  /** The cause passes: the answer has Retry-After, and the same request may then succeed. */
  readonly retry?: true
}

/** Refuses what would exceed a limit that is free again after a while. */
export function tooMany(title: string, meaning: string): ProblemDefinition {
  return { ...invalid(429, title, meaning), retry: true }
}

export function invalid(status: number, title: string, meaning: string): ProblemDefinition {
  return { status, title, meaning, stripeType: 'invalid_request_error' }
}
