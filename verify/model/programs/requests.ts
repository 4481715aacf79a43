// Defines the requests of a program to its environment, and the answers. A program gets one answer
// at a time, also if its members wait for several; between two answers it does nothing that other
// programs can observe.
import type { Outcome } from '../../../src/domain/operations/outcome.ts'
import type { Row, Value } from '../store/rows.ts'
import type { ErrorResult } from '../store/store-errors.ts'

export type ProviderCall =
  | 'authorize'
  | 'capture'
  | 'cancel'
  | 'refund'
  | 'findAuthorization'
  | 'findCapture'
  | 'findCancel'
  | 'findRefund'
  | 'retrieve'

export interface StatementRequest {
  readonly kind: 'statement'
  /** The program's transaction that the statement belongs to. */
  readonly transaction: number
  readonly text: string
  readonly parameters: readonly Value[]
}

export interface CallRequest {
  readonly kind: 'call'
  readonly call: ProviderCall
  readonly operationId: string
  /**
   * The provider's record of the operation that created what the call is about: for a capture or the
   * cancel of a hold, of the one that created the payment.
   */
  readonly recordId: string
  /** The provider's idempotency key; null for a lookup or a read. */
  readonly providerKey: string | null
  readonly amountMinor: number
}

export type Request =
  | StatementRequest
  | CallRequest
  | { readonly kind: 'commit' | 'rollback'; readonly transaction: number }

/** `late`: the lease of the program ran out before this answer, also by its own clock. */
export type Answer = { readonly late?: true } & (
  | { readonly kind: 'rows'; readonly rows: readonly Row[]; readonly count: number }
  | { readonly kind: 'done' }
  | { readonly kind: 'connection_lost' }
  | ErrorResult
  | { readonly kind: 'outcome'; readonly outcome: Outcome<unknown> }
)
