// Tests lists of five payments, with the official client.
import { beforeAll, describe, expect, test } from '@jest/globals'
import { payment } from '../running-provider.ts'
import { providerOfFile } from '../../../support/own-provider.ts'

const T0_SECONDS = 1_800_000_000

const provider = providerOfFile({ systemNow: () => nowMs })
let nowMs = T0_SECONDS * 1000
/** Five payments, oldest first; the last two were created in the same second. */
const ids: string[] = []
/** The customer of the payment that was created after 10 seconds. */
let ten: string

beforeAll(async () => {
  ten = (await provider.stripe.customers.create()).id
  const other = (await provider.stripe.customers.create()).id
  for (const second of [0, 10, 20, 30, 30]) {
    nowMs = (T0_SECONDS + second) * 1000
    const customer = second === 10 ? ten : other
    ids.push((await provider.stripe.paymentIntents.create(payment({ customer }))).id)
  }
})

async function list(params: object): Promise<{ order: number[]; hasMore: boolean }> {
  const page = await provider.stripe.paymentIntents.list(params)
  return { order: page.data.map(({ id }) => ids.indexOf(id)), hasMore: page.has_more }
}

test('lets the client iterate over all pages', async () => {
  const walked: string[] = []
  for await (const intent of provider.stripe.paymentIntents.list({ limit: 2 })) {
    walked.push(intent.id)
  }

  expect(walked).toEqual(ids.toReversed())
})

test('starting_after returns the objects older than the cursor', async () => {
  expect(await list({ starting_after: ids[4], limit: 2 })).toEqual({ order: [3, 2], hasMore: true })
  expect(await list({ starting_after: ids[2], limit: 2 })).toEqual({
    order: [1, 0],
    hasMore: false,
  })
})

test('ending_before returns the objects just newer than the cursor', async () => {
  expect(await list({ ending_before: ids[1], limit: 2 })).toEqual({ order: [3, 2], hasMore: true })
  expect(await list({ ending_before: ids[3] })).toEqual({ order: [4], hasMore: false })
})

describe('created', () => {
  test.each([
    [{ created: T0_SECONDS + 10 }, [1]],
    [{ created: { gt: T0_SECONDS + 10 } }, [4, 3, 2]],
    [{ created: { gte: T0_SECONDS + 10 } }, [4, 3, 2, 1]],
    [{ created: { lt: T0_SECONDS + 10 } }, [0]],
    [{ created: { lte: T0_SECONDS + 10 } }, [1, 0]],
    [{ created: { gt: T0_SECONDS, lt: T0_SECONDS + 30 } }, [2, 1]],
  ])('filters the list by %j', async (params, order) => {
    expect(await list(params)).toEqual({ order, hasMore: false })
  })
})

test('filters the list by customer', async () => {
  expect(await list({ customer: ten })).toEqual({ order: [1], hasMore: false })
})

test.each([
  ['a limit of 0', { limit: 0 }, 400],
  ['a limit of 101', { limit: 101 }, 400],
  ['both cursors', { starting_after: 'pi_a', ending_before: 'pi_b' }, 400],
  ['a cursor that does not exist', { starting_after: 'pi_none' }, 404],
])('refuses %s', async (_case, params, statusCode) => {
  await expect(list(params)).rejects.toMatchObject({ statusCode })
})
