// 3-D Secure through the whole service: the cardholder authenticates at the Stripe stand-in.
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

test.each([0, 1_000])(
  'captures the payment once when the cardholder authenticates and %d events are lost',
  async (lose) => {
    await service.control('POST', 'webhooks', { lose })
    try {
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
    } finally {
      await service.control('POST', 'webhooks', { lose: 0 })
    }
  },
)

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
