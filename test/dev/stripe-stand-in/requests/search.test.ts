// Tests search with four payments and two customers: https://docs.stripe.com/search
import { beforeAll, describe, expect, test } from '@jest/globals'
import { payment } from '../running-provider.ts'
import { providerOfFile } from '../../../support/own-provider.ts'

const T0_SECONDS = 1_800_000_000

const provider = providerOfFile({ systemNow: () => nowMs })
let nowMs = T0_SECONDS * 1000
/** Oldest first. */
const ids: string[] = []
let customer: string

beforeAll(async () => {
  const { stripe } = provider
  customer = (await stripe.customers.create({ name: 'Amy van Dyke', email: 'amy@shop.example' })).id
  await stripe.customers.create({ name: 'Bob' })
  for (const terms of [
    { amount: 500, customer, metadata: { order: 'A-1' } },
    { amount: 1000, currency: 'usd', metadata: { order: 'A-2', 'it"s': '1' } },
    { amount: 2000, capture_method: 'manual' as const, metadata: { order: '' } },
    { amount: 2000, confirm: false, return_url: undefined },
  ]) {
    ids.push((await stripe.paymentIntents.create(payment(terms as object))).id)
    nowMs += 1_000
  }
  nowMs += 60_000
})

const orders = async (query: string) =>
  (await provider.stripe.paymentIntents.search({ query })).data.map(({ id }) => ids.indexOf(id))

describe('finds intents, newest first, by', () => {
  test.each([
    ["status:'succeeded'", [1, 0]],
    ['status:"SUCCEEDED" AND currency:"eur"', [0]],
    ['status:"succeeded" currency:"eur"', [0]],
    ["currency:'usd' or status:'requires_capture'", [2, 1]],
    ["-currency:'usd'", [3, 2, 0]],
    ['amount:1000', [1]],
    ['amount>"500" AND amount<2000', [1]],
    ['amount>=1000', [3, 2, 1]],
    ['amount<=500', [0]],
    ["metadata['order']:'a-1'", [0]],
    ['metadata["order"]:"A"', []],
    [String.raw`metadata["it\"s"]:'1'`, [1]],
    ["-metadata['order']:null", [2, 1, 0]],
    ["metadata['order']:NULL", [3]],
    ['customer:null', [3, 2, 1]],
    [`created>${T0_SECONDS + 1}`, [3, 2]],
  ])('%s', async (query, order) => {
    expect(await orders(query)).toEqual(order)
  })

  test('the customer', async () => {
    expect(await orders(`customer:'${customer}'`)).toEqual([0])
  })
})

test.each([
  ["name:'van dyke'", 1],
  ["name:'van'", 1],
  ["name:'dyk'", 0],
  ["name~'dyk'", 1],
  ['email~"shop.ex"', 1],
  ['email:null', 1],
])('finds customers by %s: %d', async (query, count) => {
  expect((await provider.stripe.customers.search({ query })).data).toHaveLength(count)
})

test('has the form of a search result, and pages', async () => {
  const query = 'amount>0'
  const { lastResponse: _last, ...first } = await provider.stripe.paymentIntents.search({
    query,
    limit: 3,
    expand: ['total_count', 'data.latest_charge'],
  })
  const page = String(first.next_page)
  const second = await provider.stripe.paymentIntents.search({ query, limit: 3, page })
  const walked: string[] = []
  for await (const { id } of provider.stripe.paymentIntents.search({ query, limit: 1 })) {
    walked.push(id)
  }

  expect(first).toEqual({
    object: 'search_result',
    url: '/v1/payment_intents/search',
    has_more: true,
    next_page: expect.any(String),
    total_count: 4,
    data: ids
      .slice(1)
      .toReversed()
      .map((id) => expect.objectContaining({ id })),
  })
  expect(first.data[2]?.latest_charge).toMatchObject({ object: 'charge' })
  expect(second).toMatchObject({ has_more: false, next_page: null, data: [{ id: ids[0] }] })
  expect(second).not.toHaveProperty('total_count')
  expect(walked).toEqual(ids.toReversed())
})

test('lags behind by a minute, unlike a list', async () => {
  const { id } = await provider.stripe.paymentIntents.create(payment({ amount: 77 }))
  const find = async () =>
    (await provider.stripe.paymentIntents.search({ query: 'amount:77' })).data.length

  nowMs += 59_000
  const early = await find()
  nowMs += 1_000

  expect([early, await find()]).toEqual([0, 1])
  expect((await provider.stripe.paymentIntents.list({ limit: 1 })).data).toMatchObject([{ id }])
})

describe('refuses', () => {
  const unparsed = /^We were unable to parse your search query\./

  test.each([
    ['asdf', unparsed],
    ['status:succeeded', unparsed],
    ["status:'succeeded' AND", unparsed],
    ["status:'succeeded' AND amount>1 OR amount<5", unparsed],
    ["status>'a'", unparsed],
    ["status~'succ'", unparsed],
    ['amount~100', unparsed],
    ["amount:'many'", unparsed],
    [Array.from({ length: 11 }, () => 'amount:1').join(' '), unparsed],
    [
      'foo:"bar"',
      'Field `foo` is an unsupported search field for resource `payment_intents`. See ' +
        'http://stripe.com/docs/search#query-fields-for-payment-intents for a list of supported fields.',
    ],
    ['constructor:"bar"', /^Field `constructor` is an unsupported/],
    ['metadata:"bar"', /^Field `metadata` is an unsupported/],
  ])('%s', async (query, message) => {
    const found = provider.stripe.paymentIntents.search({ query })

    await expect(found).rejects.toMatchObject({
      statusCode: 400,
      type: 'StripeInvalidRequestError',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    })
  })

  test.each([
    ['no query', {}, 'Missing required param: query.'],
    [
      'a limit of 101',
      { query: 'amount:1', limit: 101 },
      'Invalid limit: must be between 1 and 100',
    ],
    ['another page', { query: 'amount:1', page: 'pi_x' }, 'pi_x is an invalid page.'],
    ['an unknown parameter', { query: 'amount:1', foo: 1 }, 'Received unknown parameter: foo'],
    [
      'a property outside of the objects',
      { query: 'amount:1', expand: ['customer'] },
      "This property cannot be expanded (customer). You may want to try expanding 'data.customer' instead.",
    ],
  ])('%s', async (_case, params, message) => {
    const found = provider.stripe.paymentIntents.search(params as { query: string })

    await expect(found).rejects.toMatchObject({ statusCode: 400, message })
  })
})
