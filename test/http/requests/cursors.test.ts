// Properties of all lists of tenants. test/security asks for the entries of another tenant.
import { beforeAll, describe, expect, test } from '@jest/globals'
import { get, paymentBody, post, postPayment, type ApiResponse } from '../../support/client.ts'
import { service, tenant } from '../../support/shared-service.ts'
import type { Tenant } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { expectProblem, makePayment } from '../payments.ts'

/** The beginning of the paths of lists below a payment, of `tenant` and of `other`. */
let payments: Record<'mine' | 'second' | 'theirs', string>
let other: Tenant

beforeAll(async () => {
  other = await service.createTenant()
  await service.sendEvents()
  for (const owner of [tenant, tenant, other]) {
    await post(service.apiUrl, owner, '/v1/webhook-endpoints', { url: 'https://shop.example/' })
    const disputed = paymentBody({ payment_method: 'pm_card_createDispute' })
    await postPayment(service.apiUrl, owner, disputed)
  }
  payments = {
    mine: await refundedPayment(tenant),
    second: await refundedPayment(tenant),
    theirs: await refundedPayment(other),
  }
  const withdrawn = async (owner: Tenant) =>
    idsOf(await get(service.apiUrl, owner, '/v1/ledger/transactions?kind=dispute')).length
  await until(async () => (await withdrawn(tenant)) === 2 && (await withdrawn(other)) === 1)
})

async function refundedPayment(owner: Tenant): Promise<string> {
  const { id } = await makePayment(service, owner, 'succeeded')
  for (let refunds = 0; refunds < 2; refunds += 1) {
    await post(service.apiUrl, owner, `/v1/payments/${id}/refunds`, { amount: 100 })
  }
  return `/v1/payments/${id}`
}

const idsOf = ({ json }: ApiResponse) => (json['data'] as { id: string }[]).map(({ id }) => id)

describe.each<[string, (payment: string) => string]>([
  ['/v1/payments', () => '/v1/payments'],
  ['/v1/payments/:id/refunds', (payment) => `${payment}/refunds`],
  ['/v1/refunds', () => '/v1/refunds'],
  ['/v1/ledger/transactions', () => '/v1/ledger/transactions'],
  ['/v1/events', () => '/v1/events'],
  ['/v1/disputes', () => '/v1/disputes'],
  ['/v1/webhook-endpoints', () => '/v1/webhook-endpoints'],
  ['/v1/webhook-deliveries', () => '/v1/webhook-deliveries'],
])('GET %s', (_, listOf) => {
  const list = (query: string) =>
    get(service.apiUrl, tenant, `${listOf(payments.mine)}?limit=100&${query}`)

  test('pages forward and backward through all of its entries', async () => {
    const all = idsOf(await list(''))
    const page = async (query: string) => {
      const answer = await get(service.apiUrl, tenant, `${listOf(payments.mine)}?limit=1${query}`)
      return { ids: idsOf(answer), more: answer.json['has_more'] }
    }

    expect(all.length).toBeGreaterThan(1)
    expect(all.toSorted().toReversed()).toEqual(all)
    for (const [place, id] of all.entries()) {
      const before = all[place - 1]
      const after = before === undefined ? '' : `&starting_after=${before}`
      expect(await page(after)).toEqual({ ids: [id], more: place < all.length - 1 })
      expect(await page(`&ending_before=${id}`)).toEqual({
        ids: before === undefined ? [] : [before],
        more: place > 1,
      })
    }
    expect(idsOf(await list(`ending_before=${all.at(-1)}`))).toEqual(all.slice(0, -1))
  })

  test.each([
    ['an id of another kind', 'starting_after=we_01h455vb4pex5vsknk084sn02q'],
    ['a cursor that is not an id', 'starting_after=secret'],
    ['a cursor in both directions', 'starting_after=x&ending_before=x'],
    ['a limit of zero', 'limit=0'],
    ['a limit that is no number', 'limit=secret'],
    ['an unknown parameter', 'secret=1'],
    ['a parameter that every object inherits', 'constructor=1'],
  ])('refuses %s, and does not quote it', async (_name, query) => {
    const answer = await get(service.apiUrl, tenant, `${listOf(payments.mine)}?${query}`)

    expectProblem(answer, 'invalid-query')
    expect(answer.text).not.toContain('secret')
  })
})

// An entry can stop to match between two pages.
test.each([
  ['/v1/ledger/transactions', 'kind=refund'],
  ['/v1/events', 'type=refund.succeeded'],
])('a cursor of GET %s need not match %s', async (path, filter) => {
  const read = async (query: string, owner = tenant) =>
    await get(service.apiUrl, owner, `${path}?limit=100&${query}`)
  const all = idsOf(await read(''))
  const matching = idsOf(await read(filter))
  const cursor = all.find((id) => !matching.includes(id) && id > String(matching.at(-1)))
  const [foreign] = idsOf(await read('', other))

  const next = idsOf(await read(`${filter}&starting_after=${cursor}`))

  expect(next.length).toBeGreaterThan(0)
  expect(next).toEqual(matching.filter((id) => id < String(cursor)))
  expectProblem(await read(`${filter}&starting_after=${foreign}`), 'invalid-query')
})
