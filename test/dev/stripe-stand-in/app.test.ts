// Tests the stand-in as a whole: authentication, headers of all answers, and the log.
import { expect, test } from '@jest/globals'
import { pino } from 'pino'
import { payment } from './running-provider.ts'
import { providerOfFile } from '../../support/own-provider.ts'

const provider = providerOfFile({ logger: pino({ level: 'info' }, { write: keepLine }) })
const logged: Record<string, unknown>[] = []

function keepLine(line: string): void {
  logged.push(JSON.parse(line) as Record<string, unknown>)
}

const authorization = { Authorization: 'Bearer sk_test_mock' }

test.each([
  ['without a key', {}, 'You did not provide an API key'],
  ['with a key of another kind', { Authorization: 'Bearer pk_test_1' }, 'Invalid API Key'],
])('answers a request %s with 401', async (_case, headers, words) => {
  const response = await fetch(`${provider.url}/v1/payment_intents`, { headers })

  expect(response.status).toBe(401)
  expect(await response.json()).toEqual({
    error: { type: 'invalid_request_error', message: expect.stringContaining(words) },
  })
})

test("answers an unknown URL with 404 and Stripe's message", async () => {
  const response = await fetch(`${provider.url}/v1/nothing`, { headers: authorization })

  expect(response.status).toBe(404)
  expect(await response.json()).toMatchObject({
    error: { message: expect.stringMatching(/^Unrecognized request URL \(GET: \/v1\/nothing\)/) },
  })
})

test('sends a Request-Id with every answer', async () => {
  const intent = await provider.stripe.paymentIntents.create(payment())
  const refused = await fetch(`${provider.url}/v1/refunds`)

  expect(intent.lastResponse.requestId).toMatch(/^req_/)
  expect(refused.headers.get('request-id')).toMatch(/^req_/)
})

test('logs one line for each request, without its body and its secret key', async () => {
  logged.length = 0
  await provider.stripe.paymentIntents.create(payment({ description: 'a secret' }))

  expect(logged).toMatchObject([
    {
      msg: 'request',
      method: 'POST',
      path: '/v1/payment_intents',
      status: 200,
      complete: true,
      request_id: expect.stringMatching(/^req_/),
    },
  ])
  expect(JSON.stringify(logged)).not.toMatch(/secret|sk_test/)
})
