// A payment provider as a program sees it: each call is a request to the environment, about a record of
// this provider.
import type {
  CallIdentity,
  PaymentProvider,
  ProviderCalls,
} from '../../../src/provider/payment-provider.ts'
import { operationIdOf, ownerOf, recordIdOf } from './ids.ts'
import type { Answer, CallRequest, ProviderCall } from './requests.ts'

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
