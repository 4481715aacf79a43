// Defines an endpoint, a function from a parsed request and what is stored to an answer.
import type { WireAnswer } from '../../../../dev/stand-in/wire.ts'
import type { Storage } from '../storage.ts'

export interface ApiRequest {
  readonly method: string
  /** Without the merchant: `/transactions/abc/void`. */
  readonly path: string
  /** The `:id` of the route; empty for a route without one. */
  readonly id: string
  /** The `transaction` of the body, or its `search`. */
  readonly body: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  /** What a rule of a fault matches. */
  readonly params: { readonly payment_method?: unknown }
  readonly nowMs: number
}

/** It may throw a Refusal only before its first write. */
export type Endpoint = (request: ApiRequest, storage: Storage) => WireAnswer
