// What a program of the product asks of the world around it, one thing at a time, and what it is answered. Between
// two answers it does nothing that anybody else could see.
import type { Outcome } from '../../../src/domain/operations/outcome.ts'
import type { Row, Value } from '../store/rows.ts'

export const providerCalls = [
  'authorize',
  'capture',
  'refund',
  'findAuthorization',
  'findCapture',
  'findRefund',
] as const
export type ProviderCall = (typeof providerCalls)[number]

export interface StatementRequest {
  readonly kind: 'statement'
  /** Which transaction of the program's it belongs to; null: it is one by itself. */
  readonly transaction: number | null
  readonly text: string
  readonly parameters: readonly Value[]
}

export interface CallRequest {
  readonly kind: 'call'
  readonly call: ProviderCall
  readonly operationId: string
  /** The key under which the provider is asked to do it once; null for a look. */
  readonly providerKey: string | null
  readonly amountMinor: number
}

export type Request =
  | StatementRequest
  | CallRequest
  | { readonly kind: 'commit' | 'rollback'; readonly transaction: number }

/** `late`: the lease of whoever has asked has run out meanwhile, by its own clock as well. */
export type Answer = { readonly late?: true } & (
  | { readonly kind: 'rows'; readonly rows: readonly Row[]; readonly count: number }
  | { readonly kind: 'done' }
  | { readonly kind: 'connection_lost' }
  | { readonly kind: 'error'; readonly code: string; readonly message: string }
  | { readonly kind: 'outcome'; readonly outcome: Outcome<unknown> }
)
