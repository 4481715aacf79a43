// POST /provider/webhooks/braintree stores a signed event once before it acknowledges it, and stores nothing
// else.
import { beforeAll, beforeEach, expect, test } from '@jest/globals'
import { read, type ApiResponse } from '../../../test/support/client.ts'
import { fetchApi } from '../../../test/support/documented.ts'
import { limitedApi } from '../../../test/support/for-file.ts'
import { KEYS, paymentOf } from './adapter-calls.ts'
import { fixture } from './fixture.ts'

const FORM = 'application/x-www-form-urlencoded'

const api = limitedApi({
  BRAINTREE_MERCHANT_ID: KEYS.merchantId,
  BRAINTREE_PUBLIC_KEY: KEYS.publicKey,
  BRAINTREE_PRIVATE_KEY: KEYS.privateKey,
})

/** An API without the keys. */
let bareUrl: string

beforeAll(async () => {
  bareUrl = (await api.serve({})).url
})
beforeEach(async () => {
  await api.store.sql`delete from provider_events`
})

const storedEvents = () => api.store.sql`select * from provider_events`

const payment = paymentOf({ providerPaymentId: 'sale1' })
const signed = (at?: Date) => fixture.events.signed(payment, at).body

async function sendForm(body: string, url = api.url, type = FORM): Promise<ApiResponse> {
  const request = { method: 'POST', headers: { 'content-type': type }, body }
  return await read(await fetchApi(`${url}/provider/webhooks/braintree`, request))
}

test('a signed event is stored once, however often it arrives', async () => {
  const body = signed()
  expect(await sendForm(body)).toMatchObject({ status: 200, json: { received: true } })
  expect(await sendForm(body)).toMatchObject({ status: 200 })

  const type = 'transaction_settled'
  expect(await storedEvents()).toMatchObject([
    { provider: 'braintree', type, payment_id: payment.id },
  ])
})

test.each<[string, number, () => Promise<ApiResponse>]>([
  [
    'an event with a forged signature',
    400,
    () => sendForm(signed().replace('bt_signature=', 'bt_signature=x')),
  ],
  ['an event of the future', 400, () => sendForm(signed(new Date(Date.now() + 400_000)))],
  ['an event as JSON', 415, () => sendForm('{}', api.url, 'application/json')],
  ['every event without the keys', 404, () => sendForm(signed(), bareUrl)],
])('%s gets %d, and is not stored', async (_title, status, ask) => {
  expect(await ask()).toMatchObject({ status })
  expect(await storedEvents()).toEqual([])
})
