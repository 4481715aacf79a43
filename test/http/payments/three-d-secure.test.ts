// A payment with 3-D Secure through the whole service. The cardholder authenticates at the Stripe
// stand-in, and its events move the payment on.
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from '@jest/globals'
import { get, paymentBody, postPayment } from '../../support/client.ts'
import { service, tenant } from '../../support/shared-service.ts'
import { until } from '../../support/until.ts'
import { executedKinds } from '../payments.ts'

beforeAll(async () => {
  await service.sendEvents()
})

interface Shown {
  readonly id: string
  readonly status: string
  readonly next_action?: { type: string; client_secret: string }
  readonly provider: { payment_id: string }
  readonly failure: { code: string } | null
}

/** Creates a payment that waits for the cardholder. */
async function payWith3ds(fields: Record<string, unknown> = {}, key: string = randomUUID()) {
  const body = paymentBody({ payment_method: 'pm_card_threeDSecure2Required', ...fields })
  const response = await postPayment(service.apiUrl, tenant, body, { key })
  return { response, payment: response.json as unknown as Shown }
}

async function authenticate({ provider }: Shown, outcome: 'succeed' | 'fail'): Promise<void> {
  const path = `payment_intents/${provider.payment_id}/authenticate`
  await service.control('POST', path, { outcome })
}

/** Waits until the payment has left `requires_action` and `processing`. */
async function untilAuthenticated({ id }: Shown): Promise<Shown> {
  return await until(async () => {
    const { json } = await get(service.apiUrl, tenant, `/v1/payments/${id}`)
    const payment = json as unknown as Shown
    return !['requires_action', 'processing'].includes(payment.status) && payment
  })
}

test('captures the payment once when the cardholder authenticates', async () => {
  const { response, payment } = await payWith3ds()
  expect(response.status).toBe(201)
  expect(payment).toMatchObject({
    status: 'requires_action',
    next_action: {
      type: 'authenticate',
      client_secret: expect.stringContaining(payment.provider.payment_id),
    },
  })

  await authenticate(payment, 'succeed')

  expect(await untilAuthenticated(payment)).toMatchObject({
    status: 'succeeded',
    amount_captured: 1999,
  })
  expect(await executedKinds(service, payment)).toEqual([
    'payment_intent.confirm',
    'payment_intent.capture',
  ])
})

test('captures the payment once even when every provider event is lost', async () => {
  await service.control('POST', 'webhooks', { lose: 1_000 })
  try {
    const { payment } = await payWith3ds()
    await authenticate(payment, 'succeed')

    expect(await untilAuthenticated(payment)).toMatchObject({
      status: 'succeeded',
      amount_captured: 1999,
    })
    expect(await executedKinds(service, payment)).toEqual([
      'payment_intent.confirm',
      'payment_intent.capture',
    ])
  } finally {
    await service.control('POST', 'webhooks', { lose: 0 })
  }
})

test('declines the payment when the cardholder fails to authenticate', async () => {
  const { payment } = await payWith3ds()

  await authenticate(payment, 'fail')

  expect(await untilAuthenticated(payment)).toMatchObject({
    status: 'declined',
    failure: { code: 'payment_intent_authentication_failure' },
  })
})

test('leaves an authenticated payment with manual capture to its client', async () => {
  const { payment } = await payWith3ds({ capture_method: 'manual' })

  await authenticate(payment, 'succeed')

  expect(await untilAuthenticated(payment)).toMatchObject({ status: 'requires_capture' })
  expect(await executedKinds(service, payment)).toEqual(['payment_intent.confirm'])
})

test('a retry of the creation replays the first response, and charges nothing', async () => {
  const key = randomUUID()
  const { response, payment } = await payWith3ds({}, key)
  await authenticate(payment, 'succeed')
  await untilAuthenticated(payment)

  const retry = await payWith3ds({}, key)

  expect(retry.response.text).toBe(response.text)
  expect(await executedKinds(service, payment)).toEqual([
    'payment_intent.confirm',
    'payment_intent.capture',
  ])
})

test('an event that arrives before the response of the provider call waits for it', async () => {
  await service.control('POST', 'faults', {
    match: { method: 'POST', path: '/v1/payment_intents' },
    fault: 'delay',
    delay_ms: 3_000,
  })
  const paying = payWith3ds()
  const [intent] = await waitForIntents()

  await service.control('POST', `payment_intents/${intent}/authenticate`, { outcome: 'succeed' })

  const { payment } = await paying
  expect(await untilAuthenticated(payment)).toMatchObject({ status: 'succeeded' })
  expect(await executedKinds(service, payment)).toEqual([
    'payment_intent.confirm',
    'payment_intent.capture',
  ])

  /** Waits for intents that have events but that the API does not know yet. */
  async function waitForIntents(): Promise<string[]> {
    return await until(async () => {
      const { data } = (await service.control('GET', 'webhooks')) as {
        data: { type: string; object: string }[]
      }
      const events = data.filter(({ type }) => type === 'payment_intent.requires_action')
      const known = await service.store.sql<{ id: string }[]>`
        select provider_payment_id as id from payments where provider_payment_id is not null
      `
      const unknown = events.filter(({ object }) => !known.some(({ id }) => id === object))
      return unknown.length > 0 && unknown.map(({ object }) => object)
    })
  }
})
