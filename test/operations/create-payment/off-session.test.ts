// Tests that a payment without its customer is declined where it would need authentication, and which
// page the provider is given to send a customer back to.
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  answerJson,
  startAnsweringServer,
  type AnsweringServer,
} from '../../provider/contract/answering-server.ts'
import { paymentBody, postPayment } from '../../support/client.ts'
import { startServiceInProcess, type ServiceInProcess } from '../../support/service-in-process.ts'
import type { Tenant } from '../../support/service.ts'
import { service, tenant } from '../../support/shared-service.ts'

const REQUIRED = 'pm_card_authenticationRequired'
const pay = async (fields: object) =>
  await postPayment(service.apiUrl, tenant, paymentBody({ payment_method: REQUIRED, ...fields }))

test('a payment off session that needs authentication is declined', async () => {
  const { status, json } = await pay({ off_session: true })

  expect(status).toBe(402)
  expect(json['payment']).toMatchObject({
    status: 'declined',
    failure: { code: 'authentication_required', decline_code: 'authentication_required' },
  })
})

test('a payment off session that needs none is made', async () => {
  const { status, json } = await pay({ off_session: true, payment_method: 'pm_card_visa' })

  expect([status, json['status']]).toEqual([201, 'succeeded'])
})

test.each([[{}], [{ off_session: false }], [{ off_session: null }]])(
  'a payment with %j waits for the authentication, on the page of the client',
  async (fields) => {
    const { status, json } = await pay(fields)

    expect([status, json['status']]).toEqual([201, 'requires_action'])
  },
)

describe('the provider is given', () => {
  const PRESENT = { off_session: null, use_stripe_sdk: 'true' }
  const ABSENT = { off_session: 'true', use_stripe_sdk: null }
  const sent: URLSearchParams[] = []
  let provider: AnsweringServer
  let own: ServiceInProcess
  let payer: Tenant

  beforeAll(async () => {
    const account = answerJson(200, { id: 'acct_1', object: 'account' })
    const decline = answerJson(402, { error: { type: 'card_error', code: 'card_declined' } })
    provider = await startAnsweringServer((request, response) => {
      if (request.method === 'GET') return account(request, response)
      void text(request)
        .then((body) => sent.push(new URLSearchParams(body)))
        .finally(() => decline(request, response))
    })
    const settings = { PAYMENT_RETURN_URL: 'https://set.example/' }
    own = await startServiceInProcess({ STRIPE_API_BASE: provider.url, ...settings })
    payer = await own.createTenant({ basisPoints: 0, fixedMinor: 0 })
  })

  afterAll(async () => {
    await own.stop()
    await provider.close()
  })

  test.each<[string, Record<string, unknown>, object]>([
    ['shop-app://paid', { return_url: 'shop-app://paid' }, PRESENT],
    ['https://set.example/', { return_url: null }, PRESENT],
    ['https://set.example/', { off_session: true }, ABSENT],
  ])('%s for %j', async (return_url, fields, rest) => {
    sent.length = 0

    const { status } = await postPayment(own.apiUrl, payer, paymentBody(fields))

    expect([status, sent.length]).toEqual([402, 1])
    const expected = { return_url, ...rest }
    const names = Object.keys(expected)
    expect(Object.fromEntries(names.map((name) => [name, sent[0]?.get(name)]))).toEqual(expected)
  })
})

test('a return_url with the number of a card is refused', async () => {
  const { status, json } = await pay({ return_url: 'https://shop.example/4242424242424242' })

  expect([status, json['type']]).toEqual([422, '/problems/card-number-refused'])
})
