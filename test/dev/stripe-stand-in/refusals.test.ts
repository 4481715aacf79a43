// Tests that the stand-in refuses what Stripe refuses since its version 2026-09-30.endive, and takes what
// Stripe takes, so that an integration that passes here passes there.
import { describe, expect, test } from '@jest/globals'
import { ownProvider } from '../../support/own-provider.ts'

const provider = ownProvider()

const KEY = 'sk_test_mock'
const terms = {
  amount: '1000',
  currency: 'eur',
  payment_method: 'pm_card_visa',
  confirm: 'true',
  return_url: 'https://shop.example/',
}

/** The members that these tests read. */
interface Body {
  readonly id: string
  readonly status: string
  readonly payment_method: string
  readonly card: unknown
  readonly latest_charge: { readonly outcome: unknown }
  readonly error: {
    readonly type: string
    readonly message: string
    readonly param: string
    readonly payment_intent: { readonly id: string }
  }
}

async function request(
  path: string,
  fields: Record<string, string> | undefined,
  headers: Record<string, string> = { authorization: `Bearer ${KEY}` },
) {
  const body = fields && new URLSearchParams(fields)
  const method = body === undefined ? 'GET' : 'POST'
  const answer = await fetch(`${provider.url}${path}`, { method, headers, ...(body && { body }) })
  return { status: answer.status, json: (await answer.json()) as Body }
}

const create = async (fields: Record<string, string>) =>
  await request('/v1/payment_intents', { ...terms, ...fields })

describe('a new intent is refused, and nothing is executed, with', () => {
  test.each([
    ['a parameter that was removed', { 'payment_method_types[0]': 'card' }, 'payment_method_types'],
    ['a parameter that Stripe does not know', { amuont: '5' }, 'amuont'],
    [
      'a parameter inside of another that Stripe does not know',
      { 'payment_method_options[card][request_incremental]': 'if_available' },
      'payment_method_options[card][request_incremental]',
    ],
    [
      'an unknown parameter in a list',
      {
        'amount_details[line_items][0][product_name]': 'A book',
        'amount_details[line_items][0][colour]': 'red',
      },
      'amount_details[line_items][0][colour]',
    ],
    ['a currency that Stripe does not take', { currency: 'zzz' }, 'currency'],
    ['nine digits of US dollars', { currency: 'usd', amount: '100000000' }, 'amount'],
    ['thirteen digits of rupiahs', { currency: 'idr', amount: '1000000000000' }, 'amount'],
    [
      'automatic methods and a list of methods',
      { 'automatic_payment_methods[enabled]': 'true', 'allowed_payment_method_types[0]': 'card' },
      'automatic_payment_methods',
    ],
    [
      'a list of methods and one of excluded methods',
      { 'excluded_payment_method_types[0]': 'link', 'allowed_payment_method_types[0]': 'card' },
      'excluded_payment_method_types',
    ],
    ['a token and a method', { confirmation_token: 'ctoken_1' }, 'confirmation_token'],
    ['off_session, and no confirmation', { confirm: 'false', off_session: 'true' }, 'off_session'],
    ['a long key of metadata', { [`metadata[${'k'.repeat(41)}]`]: '1' }, /^metadata/],
    ['a long value of metadata', { 'metadata[order]': 'v'.repeat(501) }, 'metadata[order]'],
    [
      'too much metadata',
      Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`metadata[k${at}]`, '1'])),
      'metadata',
    ],
  ])('%s', async (_title, fields: Record<string, string>, param) => {
    const { status, json } = await create(fields)

    expect([status, json.error.type]).toEqual([400, 'invalid_request_error'])
    const isExact = typeof param === 'string'
    expect(json.error.param).toEqual(isExact ? param : expect.stringMatching(param))
    expect(await provider.executed()).toEqual([])
  })
})

test.each([
  ['usd', '99999999'],
  ['idr', '999999999999'],
])('the most that Stripe takes in %s is taken', async (currency, amount) => {
  expect((await create({ currency, amount })).status).toBe(200)
})

test.each(['payment_intents', 'radar/early_fraud_warnings'])(
  'unknown parameters are named, also of a list: %s',
  async (resource) => {
    const path = `/v1/${resource}?limit=1&staus=succeeded&page=2`
    const { status, json } = await request(path, undefined)

    expect(status).toBe(400)
    expect(json.error).toMatchObject({
      code: 'parameter_unknown',
      param: 'staus',
      message: 'Received unknown parameters: staus, page',
    })
  },
)

test('a capture that is not final is refused, and captures nothing', async () => {
  const { json: held } = await create({ capture_method: 'manual' })
  const path = `/v1/payment_intents/${held.id}/capture`

  const partial = await request(path, { amount_to_capture: '500', final_capture: 'false' })
  const whole = await request(path, { final_capture: 'true' })

  expect([partial.status, partial.json.error.param]).toEqual([400, 'final_capture'])
  expect([whole.status, whole.json.status]).toEqual([200, 'succeeded'])
})

describe('authentication', () => {
  const asUser = (user: string) => ({
    authorization: `Basic ${Buffer.from(user).toString('base64')}`,
  })

  test('takes the key as the user of basic authentication', async () => {
    const { status } = await request('/v1/payment_intents', undefined, asUser(`${KEY}:`))

    expect(status).toBe(200)
  })

  test.each([
    [asUser('mallory:secret')],
    [asUser(':')],
    [{ authorization: 'Bearer sk_mock' }],
    [{ authorization: 'Bearer pk_test_mock' }],
    [{ authorization: 'Bearer sk_test_' }],
    [{}],
  ])('refuses %j', async (headers: Record<string, string>) => {
    const { status } = await request('/v1/payment_intents', undefined, headers)

    expect(status).toBe(401)
  })
})

describe('the version', () => {
  const withVersion = async (version: string) =>
    await request('/v1/payment_intents', undefined, {
      authorization: `Bearer ${KEY}`,
      'stripe-version': version,
    })

  test.each(['2020-08-27', '2026-06-24.dahlia', 'newest', '2026-09-29.endive'])(
    '%s is refused',
    async (version) => {
      expect((await withVersion(version)).status).toBe(400)
    },
  )

  test.each(['2026-09-30.endive', '2026-10-28.endive'])('%s is taken', async (version) => {
    expect((await withVersion(version)).status).toBe(200)
  })
})

describe('the control routes', () => {
  const reset = async (headers: Record<string, string>) =>
    await fetch(`${provider.url}/_control/reset`, { method: 'POST', headers })

  test.each([
    [{ origin: 'https://evil.example' }],
    [{ origin: 'null' }],
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
  ])('refuse a browser with %j', async (headers: Record<string, string>) => {
    await create({})

    expect((await reset(headers)).status).toBe(403)
    expect(await provider.executed()).toHaveLength(1)
  })
})
