// A payment whose card asks for 3-D Secure, through the whole service: the holder answers at the
// mock provider, whose events move the payment on.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { get, paymentBody, postPayment } from '../../support/client.ts'
import { expectLedgerBalanced } from '../../support/ledger.ts'
import { startService, type Service, type Tenant } from '../../support/service.ts'

let service: Service
let tenant: Tenant

beforeAll(async () => {
  service = await startService()
  await service.sendEvents()
  tenant = await service.createTenant()
})
afterEach(() => expectLedgerBalanced(service.store))

afterAll(() => service.stop())

interface Shown {
  readonly id: string
  readonly status: string
  readonly next_action?: { type: string; client_secret: string }
  readonly provider: { payment_id: string }
  readonly failure: { code: string } | null
}

/** A payment that waits for its holder. */
async function payWith3ds(fields: Record<string, unknown> = {}, key: string = randomUUID()) {
  const body = paymentBody({ payment_method: 'pm_card_threeDSecure2Required', ...fields })
  const response = await postPayment(service.apiUrl, tenant, body, { key })
  return { response, payment: response.json as unknown as Shown }
}

async function authenticate({ provider }: Shown, outcome: 'succeed' | 'fail'): Promise<void> {
  const path = `payment_intents/${provider.payment_id}/authenticate`
  await service.control('POST', path, { outcome })
}

/** The payment, once it has left the statuses in which it waits. */
async function settled({ id }: Shown): Promise<Shown> {
  for (;;) {
    const { json } = await get(service.apiUrl, tenant, `/v1/payments/${id}`)
    const payment = json as unknown as Shown
    if (!['requires_action', 'processing'].includes(payment.status)) return payment
  }
}

async function executedKinds(payment: Shown): Promise<string[]> {
  return (await service.executedFor(payment)).map(({ kind }) => kind)
}

test('when the holder authenticates, the payment is captured, once', async () => {
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

  expect(await settled(payment)).toMatchObject({ status: 'succeeded', amount_captured: 1999 })
  expect(await executedKinds(payment)).toEqual(['payment_intent.confirm', 'payment_intent.capture'])
})

test('when every event of the provider is lost, the payment is captured all the same, once', async () => {
  await service.control('POST', 'webhooks', { lose: 1_000 })
  try {
    const { payment } = await payWith3ds()
    await authenticate(payment, 'succeed')

    expect(await settled(payment)).toMatchObject({ status: 'succeeded', amount_captured: 1999 })
    expect(await executedKinds(payment)).toEqual([
      'payment_intent.confirm',
      'payment_intent.capture',
    ])
  } finally {
    await service.control('POST', 'webhooks', { lose: 0 })
  }
})

test('when the holder fails, the payment is declined, and closed at the provider', async () => {
  const { payment } = await payWith3ds()

  await authenticate(payment, 'fail')

  expect(await settled(payment)).toMatchObject({
    status: 'declined',
    failure: { code: 'payment_intent_authentication_failure' },
  })
})

test('when its client captures by itself, the authenticated payment waits for that', async () => {
  const { payment } = await payWith3ds({ capture_method: 'manual' })

  await authenticate(payment, 'succeed')

  expect(await settled(payment)).toMatchObject({ status: 'requires_capture' })
  expect(await executedKinds(payment)).toEqual(['payment_intent.confirm'])
})

test('a retry of its creation replays that it had to be authenticated, and charges nothing', async () => {
  const key = randomUUID()
  const { response, payment } = await payWith3ds({}, key)
  await authenticate(payment, 'succeed')
  await settled(payment)

  const retry = await payWith3ds({}, key)

  expect(retry.response.text).toBe(response.text)
  expect(await executedKinds(payment)).toEqual(['payment_intent.confirm', 'payment_intent.capture'])
})

test('an event that comes before the answer of the API call waits for it', async () => {
  await service.control('POST', 'faults', {
    match: { method: 'POST', path: '/v1/payment_intents' },
    fault: 'delay',
    delay_ms: 700,
  })
  const paying = payWith3ds()
  const [intent] = await waitForIntents()

  await service.control('POST', `payment_intents/${intent}/authenticate`, { outcome: 'succeed' })

  const { payment } = await paying
  expect(await settled(payment)).toMatchObject({ status: 'succeeded' })
  expect(await executedKinds(payment)).toEqual(['payment_intent.confirm', 'payment_intent.capture'])

  /** The intents that events tell of, which the API does not know yet. */
  async function waitForIntents(): Promise<string[]> {
    for (;;) {
      const { data } = (await service.control('GET', 'webhooks')) as {
        data: { type: string; object: string }[]
      }
      const asking = data.filter(({ type }) => type === 'payment_intent.requires_action')
      const known = await service.store.sql<{ id: string }[]>`
        select provider_payment_id as id from payments where provider_payment_id is not null
      `
      const unknown = asking.filter(({ object }) => !known.some(({ id }) => id === object))
      if (unknown.length > 0) return unknown.map(({ object }) => object)
    }
  }
})
