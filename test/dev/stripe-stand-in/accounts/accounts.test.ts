// Tests that objects belong to an account in one of its modes: https://docs.stripe.com/keys
import { describe, expect, test } from '@jest/globals'
import { createClient, payment } from '../running-provider.ts'
import { providerOfFile } from '../../../support/own-provider.ts'

const provider = providerOfFile()

const clientOf = (apiKey: string) => createClient(Number(new URL(provider.url).port), { apiKey })

describe.each(['sk_test_acctother_1', 'sk_live_mock'])('for %s', (apiKey) => {
  const missing = { statusCode: 404, code: 'resource_missing' }

  test('an intent of the account of sk_test_mock does not exist', async () => {
    const { paymentIntents, refunds } = clientOf(apiKey)
    const held = await provider.stripe.paymentIntents.create(payment({ capture_method: 'manual' }))

    await expect(paymentIntents.retrieve(held.id)).rejects.toMatchObject(missing)
    await expect(paymentIntents.capture(held.id)).rejects.toMatchObject(missing)
    await expect(refunds.create({ payment_intent: held.id })).rejects.toMatchObject(missing)
    const unchanged = await provider.stripe.paymentIntents.retrieve(held.id)
    expect(unchanged.status).toBe('requires_capture')
  })

  test('lists contain only its own objects', async () => {
    const { paymentIntents } = clientOf(apiKey)
    await provider.stripe.paymentIntents.create(payment())
    const own = await paymentIntents.create(payment())

    expect((await paymentIntents.list()).data.map(({ id }) => id)).toEqual([own.id])
    const { data } = await provider.stripe.paymentIntents.list()
    expect(data.map(({ id }) => id)).not.toContain(own.id)
  })
})
