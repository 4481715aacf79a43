// Tests a provider that a process does not have: it calls nothing, and concludes nothing.
import { describe, expect, test } from '@jest/globals'
import type { PaymentProvider } from '../../src/provider/payment-provider.ts'
import { createProviders } from '../../src/provider/providers.ts'
import { callNames } from '../../src/provider/calls.ts'
import { portCalls } from './contract/calls.ts'
import { identityOf, newPayment, refundOf, criteriaOf } from './contract/payments.ts'

const other = { name: 'other' } as PaymentProvider
const missing = createProviders([other]).named('elsewhere')
const payment = newPayment({ provider: 'elsewhere', paymentMethod: 'pm_card_visa' })

const REASON = 'this process has no provider elsewhere'

test('a provider is found by its name', () => {
  expect(createProviders([other]).named('other')).toBe(other)
})

describe('a provider that the process does not have', () => {
  test.each(callNames)('makes no call: %s', async (name) => {
    const outcome = await portCalls[name].make(missing, payment, identityOf('started'))

    expect(outcome).toMatchObject({ outcome: 'not_executed', reason: REASON, retryLater: true })
  })

  test.each(callNames)('cannot tell what a call did: %s', async (name) => {
    const criteria = criteriaOf(identityOf('started'), Date.now())

    const outcome = await portCalls[name].find(missing, payment, criteria)

    const answered = { looked: false }
    expect(outcome).toMatchObject({ outcome: 'unknown', reason: REASON, notSent: true, answered })
  })

  test('cannot tell where its objects stand', async () => {
    const looked = [missing.retrieve(payment), missing.retrieveRefund(refundOf(payment))]

    for (const outcome of await Promise.all(looked))
      expect(outcome).toMatchObject({ outcome: 'not_executed', reason: REASON })
  })

  test('ends a comparison with its records', async () => {
    const window = { from: new Date(0), to: new Date() }

    expect(() => missing.listPayments(window)).toThrow(REASON)
    await expect(missing.readPayment('pi_1')).rejects.toThrow(REASON)
  })

  test('declares no keys, so that none of its calls is repeated in doubt', () => {
    expect(missing.capabilities.keys).toBeNull()
  })
})
