// The payment provider as a program sees it: each call is a request to the environment.
import type { PaymentProvider, ProviderCalls } from '../../../src/provider/payment-provider.ts'
import { operationIdOf, ownerOf } from './ids.ts'
import type { Answer, CallRequest, ProviderCall } from './requests.ts'

export function providerOf(send: (request: CallRequest) => Promise<Answer>): PaymentProvider {
  const ask = async (call: ProviderCall, about: Omit<CallRequest, 'kind' | 'call'>) => {
    const answer = await send({ kind: 'call', call, ...about })
    if (answer.kind !== 'outcome') throw new Error('expected an outcome')
    return answer.outcome as never
  }
  // Calls that no program of the model makes are absent.
  const calls: Partial<ProviderCalls> = {
    authorize: {
      execute: ({ payment: { amountMinor } }, identity) =>
        ask('authorize', { ...identity, amountMinor }),
      find: ({ payment: { amountMinor } }, { operationId }) =>
        ask('findAuthorization', { operationId, amountMinor, providerKey: null }),
    },
    capture: {
      execute: ({ payment, amountMinor = payment.amountMinor }, identity) =>
        ask('capture', { ...identity, amountMinor }),
      find: ({ payment, amountMinor = payment.amountMinor }, { operationId }) =>
        ask('findCapture', { operationId, amountMinor, providerKey: null }),
    },
    cancel: {
      execute: ({ payment: { amountMinor } }, identity) =>
        ask('cancel', { ...identity, amountMinor }),
      find: ({ payment: { amountMinor } }, { operationId }) =>
        ask('findCancel', { operationId, amountMinor, providerKey: null }),
    },
    refund: {
      execute: ({ refund: { amountMinor } }, identity) =>
        ask('refund', { ...identity, amountMinor }),
      find: ({ refund: { amountMinor } }, { operationId }) =>
        ask('findRefund', { operationId, amountMinor, providerKey: null }),
    },
  }
  const retrieve: PaymentProvider['retrieve'] = ({ id, amountMinor }) => {
    const { key, life } = ownerOf(id)
    const operationId = operationIdOf(key, life)
    return ask('retrieve', { operationId, amountMinor, providerKey: null })
  }
  return { name: 'stripe', calls, retrieve } as PaymentProvider
}
