// Tests differences that control routes plant, with the official client.
import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Stripe } from 'stripe'
import { payment } from '../running-provider.ts'
import { ownProvider } from '../../../support/own-provider.ts'

const provider = ownProvider()
let paid: Stripe.PaymentIntent
let refund: Stripe.Refund

beforeEach(async () => {
  paid = await provider.stripe.paymentIntents.create(payment({ metadata: { order: '7' } }))
  refund = await provider.stripe.refunds.create({ payment_intent: paid.id, amount: 300 })
})

const objects = {
  'a payment': {
    id: () => paid.id,
    read: (id: string) => provider.stripe.paymentIntents.retrieve(id),
  },
  'a refund': { id: () => refund.id, read: (id: string) => provider.stripe.refunds.retrieve(id) },
  'a movement': {
    id: () => refund.balance_transaction as string,
    read: (id: string) => provider.stripe.balanceTransactions.retrieve(id),
  },
}
const names = Object.keys(objects) as (keyof typeof objects)[]

test.each(names)('%s shows the altered members and keeps the others', async (name) => {
  const { id, read } = objects[name]
  const before = await read(id())
  const executed = await provider.executed()

  const altered = await provider.control('POST', `/objects/${id()}`, {
    amount: 7,
    currency: 'jpy',
  })

  const expected = { ...JSON.parse(JSON.stringify(before)), amount: 7, currency: 'jpy' } as object
  expect(altered).toEqual(expected)
  expect(JSON.parse(JSON.stringify(await read(id())))).toEqual(expected)
  expect(await provider.executed()).toEqual(executed)
})

test.each(names)('%s does not exist after its removal', async (name) => {
  const { id, read } = objects[name]

  const removed = await provider.control('DELETE', `/objects/${id()}`)

  expect(removed).toEqual({ id: id(), deleted: true })
  await expect(read(id())).rejects.toMatchObject({ statusCode: 404, code: 'resource_missing' })
})

test('a list follows an altered creation time, and metadata is replaced as a whole', async () => {
  const other = await provider.stripe.paymentIntents.create(payment())
  await provider.control('POST', `/objects/${other.id}`, {
    created: 5,
    metadata: { planted: 'yes' },
  })

  const { data } = await provider.stripe.paymentIntents.list()
  const early = await provider.stripe.paymentIntents.list({ created: { lt: 6 } })

  expect(data.map(({ id }) => id)).toEqual([paid.id, other.id])
  expect(early.data).toMatchObject([{ id: other.id, metadata: { planted: 'yes' } }])
})

describe('refuses', () => {
  test.each([
    ['another id', { id: 'pi_other' }, 'id'],
    ['another kind', { object: 'refund' }, 'object'],
    ['an invalid time', { created: 'yesterday' }, 'created'],
    ['metadata that is not text', { metadata: { order: 7 } }, 'metadata'],
  ])('%s', async (_case, members, word) => {
    const planting = provider.control('POST', `/objects/${paid.id}`, members)

    await expect(planting).rejects.toThrow(word)
  })

  test.each(['GET', 'POST', 'DELETE'])('%s of an unknown object', async (method) => {
    const planting = provider.control(
      method,
      '/objects/pi_nobody',
      method === 'POST' ? {} : undefined,
    )

    await expect(planting).rejects.toThrow("No such object: 'pi_nobody'")
  })
})
