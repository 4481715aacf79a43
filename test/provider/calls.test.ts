// Tests how the calls of an adapter become those of the port.
import { expect, test } from '@jest/globals'
import {
  callNames,
  connectCalls,
  type AdapterCall,
  type CallName,
} from '../../src/provider/calls.ts'
import { UNDECLARED } from '../../src/provider/capabilities.ts'
import { stripeCapabilities } from '../../src/provider/stripe/adapter.ts'
import { portCalls } from './contract/calls.ts'
import { identityOf, newPayment, criteriaOf } from './contract/payments.ts'

const payment = newPayment({ provider: 'other', paymentMethod: 'card', providerPaymentId: 'id' })
const unused: AdapterCall<unknown, never> = {
  execute: () => Promise.reject(new Error('sent')),
  find: () => Promise.reject(new Error('sent')),
}
const without = (left: CallName) =>
  Object.fromEntries(callNames.filter((name) => name !== left).map((name) => [name, unused]))

test.each([
  ['adjust', 'The provider does not change the amount of a hold.'],
  ['cancel', 'The provider does not release a hold before it expires.'],
] as const)(
  '%s, which the provider is not able to do, is declined and not sent',
  async (...row) => {
    const [name, message] = row
    const calls = connectCalls({}, UNDECLARED, without(name))
    const adapter = { calls } as never
    const identity = identityOf(name)

    const made = await portCalls[name].make(adapter, payment, identity)
    const found = await portCalls[name].find(adapter, payment, criteriaOf(identity, 0))

    expect(made).toMatchObject({ outcome: 'declined', failure: { code: 'not_supported', message } })
    expect(found).toEqual(made)
  },
)

test.each(callNames)('an adapter without %s, which its provider can do, is refused', (name) => {
  const connect = () => connectCalls({}, stripeCapabilities, without(name))

  expect(connect).toThrow(`the adapter has no ${name}`)
})
