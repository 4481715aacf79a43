// Tests that a search that is not complete proves nothing: a page without one of its transactions, and
// more results than Braintree shows.
import { afterEach, describe, expect, test } from '@jest/globals'
import { renderXml } from '../stand-in/requests/xml.ts'
import {
  startAnsweringServer,
  type AnsweringServer,
} from '../../../test/provider/contract/answering-server.ts'
import { identityOf, criteriaOf } from '../../../test/provider/contract/payments.ts'
import { adapterFor, paymentOf } from './adapter-calls.ts'

const FROM = new Date('2026-11-27T00:00:00Z')
const TO = new Date('2026-11-28T00:00:00Z')
const window = { from: FROM, to: TO }

let server: AnsweringServer
afterEach(async () => server.close())

/** The search finds these ids, and a page has these of them. */
async function startSearch(idsOf: (created: Created) => readonly string[], shown: string[] = []) {
  const windows: Created[] = []
  server = await startAnsweringServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { search } = JSON.parse(Buffer.concat(chunks).toString()) as Body
      const isForIds = request.url?.endsWith('/advanced_search_ids') === true
      if (isForIds && search.created_at) windows.push(search.created_at)
      const found = { pageSize: 50, ids: [...idsOf(search.created_at ?? NEVER)] }
      response.writeHead(200, { 'content-type': 'application/xml' })
      response.end(isForIds ? renderXml('searchResults', found) : pageOf(shown))
    })
  })
  return windows
}

interface Created {
  readonly min: string
  readonly max: string
}
interface Body {
  readonly search: { readonly created_at?: Created }
}
const NEVER: Created = { min: '', max: '' }

function pageOf(shown: readonly string[]): string {
  const transactions = shown.map((id) =>
    renderXml('transaction', {
      id,
      type: 'sale',
      status: 'authorized',
      amount: '19.99',
      currencyIsoCode: 'EUR',
      createdAt: FROM,
    }).replace(/^.*\n/, ''),
  )
  const inner = transactions.join('')
  return `<credit-card-transactions type="collection">${inner}</credit-card-transactions>`
}

const list = async () => {
  const ids: string[] = []
  for await (const page of adapterFor(server.url).listPayments(window)) {
    ids.push(...page.map(({ providerPaymentId }) => providerPaymentId))
  }
  return ids
}
const find = () =>
  adapterFor(server.url).calls.authorize.find(
    { payment: paymentOf() },
    criteriaOf(identityOf('started'), FROM.getTime()),
  )

describe('a page', () => {
  test('with all of its transactions is listed', async () => {
    await startSearch(() => ['one', 'two'], ['one', 'two'])

    expect(await list()).toEqual(['one', 'two'])
  })

  test.each([
    ['without one of its transactions', ['one']],
    ['with another transaction', ['one', 'three']],
    ['with one twice', ['one', 'one']],
    ['with nothing', []],
  ])('%s is an error, and proves nothing', async (_case, shown) => {
    await startSearch(() => ['one', 'two'], shown)

    await expect(list()).rejects.toThrow('not complete')
    expect(await find()).toMatchObject({ outcome: 'unknown', answered: { looked: false } })
  })

  test('with transactions that have other order ids proves nothing', async () => {
    await startSearch(() => ['one'], ['one'])

    expect(await find()).toMatchObject({ outcome: 'unknown', answered: { found: ['one'] } })
  })
})

describe('as many results as Braintree shows at most', () => {
  const many = Array.from({ length: 10_000 }, (_, index) => `many${index}`)

  test('prove nothing to a lookup', async () => {
    await startSearch(() => many)

    expect(await find()).toMatchObject({
      outcome: 'unknown',
      reason: expect.stringContaining('too many'),
    })
  })

  test('are searched again in halves, the newer one first', async () => {
    const windows = await startSearch(({ min, max }) =>
      Date.parse(max) - Date.parse(min) > 12 * 3_600_000 ? many : [],
    )

    expect(await list()).toEqual([])
    expect(windows).toEqual([
      { min: '2026-11-27T00:00:00.000Z', max: '2026-11-28T00:00:00.000Z' },
      { min: '2026-11-27T12:00:00.000Z', max: '2026-11-28T00:00:00.000Z' },
      { min: '2026-11-27T00:00:00.000Z', max: '2026-11-27T12:00:00.000Z' },
    ])
  })

  test('in one minute are an error', async () => {
    await startSearch(() => many)

    await expect(list()).rejects.toThrow('one minute has more transactions')
  })
})
