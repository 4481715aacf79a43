// Defines the requests of a program to its environment, and the answers. A program gets one answer
// at a time, also if its members wait for several; between two answers it does nothing that other
// programs can observe.
import type { Outcome } from '../../../src/domain/operations/outcome.ts'
import type { ErrorResult, Row, Value } from '../store/rows.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import type { CallIdentity, ProviderCalls } from '../../../src/provider/calls.ts'
import { operationIdOf, ownerOf, recordIdOf } from './ids.ts'

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

export function providerOf(
  name: string,
  send: (request: CallRequest) => Promise<Answer>,
): PaymentProvider {
  const ask = async (call: ProviderCall, about: Omit<CallRequest, 'kind' | 'call'>) => {
    const recordId = recordIdOf(about.recordId, name)
    const answer = await send({ kind: 'call', call, ...about, recordId })
    if (answer.kind !== 'outcome') throw new Error('expected an outcome')
    return answer.outcome as never
  }
  // Calls that no program of the model makes are absent.
  const calls: Partial<ProviderCalls> = {
    authorize: {
      execute: ({ payment: { amountMinor } }, identity) =>
        ask('authorize', { ...namesOf(identity), recordId: identity.operationId, amountMinor }),
      find: ({ payment: { amountMinor } }, { operationId }) =>
        ask('findAuthorization', { ...lookUpBy(operationId), amountMinor }),
    },
    capture: {
      execute: ({ payment, amountMinor = payment.amountMinor }, identity) =>
        ask('capture', { ...namesOf(identity), recordId: creatorOf(payment), amountMinor }),
      find: ({ payment, amountMinor = payment.amountMinor }, { operationId }) =>
        ask('findCapture', { ...lookUpBy(operationId, creatorOf(payment)), amountMinor }),
    },
    cancel: {
      execute: ({ payment }, identity) =>
        ask('cancel', {
          ...namesOf(identity),
          recordId: creatorOf(payment),
          amountMinor: payment.amountMinor,
        }),
      find: ({ payment }, { operationId }) =>
        ask('findCancel', {
          ...lookUpBy(operationId, creatorOf(payment)),
          amountMinor: payment.amountMinor,
        }),
    },
    refund: {
      execute: ({ refund: { amountMinor } }, identity) =>
        ask('refund', { ...namesOf(identity), recordId: identity.operationId, amountMinor }),
      find: ({ refund: { amountMinor } }, { operationId }) =>
        ask('findRefund', { ...lookUpBy(operationId), amountMinor }),
    },
  }
  const retrieve: PaymentProvider['retrieve'] = (payment) =>
    ask('retrieve', { ...lookUpBy(creatorOf(payment)), amountMinor: payment.amountMinor })
  return { name, calls, retrieve } as PaymentProvider
}

/** The operation that created the payment. */
function creatorOf({ id }: { readonly id: string }): string {
  const { key, life } = ownerOf(id)
  return operationIdOf(key, life)
}

/** Without the time of the deadline: the model has a step of its own for a lease that expires. */
const namesOf = ({ providerKey, operationId }: CallIdentity) => ({ providerKey, operationId })

const lookUpBy = (operationId: string, recordId = operationId) => ({
  operationId,
  recordId,
  providerKey: null,
})
