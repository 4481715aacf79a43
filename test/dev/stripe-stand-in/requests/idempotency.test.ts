// Tests idempotency keys against Stripe's documentation.
import { describe, expect, test } from '@jest/globals'
import { createClient, payment } from '../running-provider.ts'
import { ownProvider } from '../../../support/own-provider.ts'

const HOUR_SECONDS = 3600
const key = { idempotencyKey: 'key-1' }

const provider = ownProvider({ systemNow: () => 1_800_000_000_000 })

async function post(path: string, body: string, idempotencyKey = 'key-1'): Promise<Response> {
  return fetch(provider.url + path, {
    method: 'POST',
    headers: {
      Authorization: 'Bearer sk_test_mock',
      'Content-Type': 'application/x-www-form-urlencoded',
      'Idempotency-Key': idempotencyKey,
    },
    body,
  })
}

const BODY =
  'amount=1000&currency=eur&confirm=true&return_url=https://a.example&payment_method=pm_card_visa'

describe('a request with a used key', () => {
  test('replays the exact bytes of the first answer', async () => {
    const first = await post('/v1/payment_intents', BODY)
    const second = await post('/v1/payment_intents', BODY)

    expect(second.status).toBe(200)
    expect(await second.text()).toBe(await first.text())
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(second.headers.get('request-id')).not.toBe(first.headers.get('request-id'))
    expect(second.headers.get('original-request')).toBe(first.headers.get('request-id'))
    expect(await provider.executed()).toHaveLength(1)
  })

  test('returns 400 idempotency_error when the parameters differ', async () => {
    await provider.stripe.paymentIntents.create(payment(), key)

    await expect(
      provider.stripe.paymentIntents.create(payment({ amount: 1001 }), key),
    ).rejects.toMatchObject({
      type: 'StripeIdempotencyError',
      statusCode: 400,
      message: expect.stringContaining("Try using a key other than 'key-1'"),
    })
    expect(await provider.executed()).toHaveLength(1)
  })

  test('returns 400 idempotency_error when the path differs', async () => {
    const held = await provider.stripe.paymentIntents.create(payment({ capture_method: 'manual' }))
    await provider.stripe.paymentIntents.capture(held.id, {}, key)

    await expect(provider.stripe.paymentIntents.cancel(held.id, {}, key)).rejects.toMatchObject({
      type: 'StripeIdempotencyError',
    })
  })

  test.each([
    ['replays under another secret key of the account', 'sk_test_other', 1],
    ['executes in another account', 'sk_test_acctother_1', 2],
    ['executes in the other mode of the account', 'sk_live_1', 2],
  ])('%s', async (_, apiKey, executed) => {
    const other = createClient(Number(new URL(provider.url).port), { apiKey })
    await provider.stripe.paymentIntents.create(payment(), key)

    await other.paymentIntents.create(payment(), key)

    expect(await provider.executed()).toHaveLength(executed)
  })
})

describe('a key', () => {
  test.each([0, 256])('of %i characters is refused', async (length) => {
    const refused = await post('/v1/payment_intents', BODY, 'k'.repeat(length))

    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({
      error: { type: 'idempotency_error', message: expect.stringContaining(`length is ${length}`) },
    })
    expect(await provider.executed()).toEqual([])
  })

  test('of 255 characters is accepted', async () => {
    expect(await post('/v1/payment_intents', BODY, 'k'.repeat(255))).toMatchObject({ status: 200 })
  })
})

describe('the kept result', () => {
  test('is a decline', async () => {
    const terms = payment({ payment_method: 'pm_card_chargeDeclined' })
    const declined = async () =>
      provider.stripe.paymentIntents.create(terms, key).catch((error: unknown) => error)
    const first = (await declined()) as { payment_intent: { id: string } }

    expect(await declined()).toMatchObject({
      code: 'card_declined',
      payment_intent: { id: first.payment_intent.id },
      headers: { 'idempotent-replayed': 'true' },
    })
  })

  test('is a refusal because of the state of an object', async () => {
    const held = await provider.stripe.paymentIntents.create(payment())
    const again = async () =>
      provider.stripe.paymentIntents.capture(held.id, {}, key).catch((error: unknown) => error)
    await again()

    expect(await again()).toMatchObject({ headers: { 'idempotent-replayed': 'true' } })
  })

  test('is never a refusal of the parameters: the key stays free', async () => {
    await expect(
      provider.stripe.paymentIntents.create(payment({ amount: 0 }), key),
    ).rejects.toMatchObject({ statusCode: 400 })

    const intent = await provider.stripe.paymentIntents.create(payment(), key)

    expect(intent.status).toBe('succeeded')
  })
})

describe('a key in flight', () => {
  test.each(['hang_before', 'delay'])('is refused during the fault %s', async (fault) => {
    await provider.addFault({ fault, delay_ms: 600_000 })
    const first = provider.stripe.paymentIntents.create(payment(), key)
    await provider.waitForFault()

    await expect(provider.stripe.paymentIntents.create(payment(), key)).rejects.toMatchObject({
      statusCode: 409,
      code: 'idempotency_key_in_use',
    })

    // After the closed connection the client retries with the same key.
    await provider.control('DELETE', '/faults')
    expect(await first).toMatchObject({ status: 'succeeded' })
    expect(await provider.executed()).toHaveLength(1)
  })

  test('is free when the client of a hanging request has disconnected', async () => {
    await provider.addFault({ fault: 'hang_before' })
    const leaving = new AbortController()
    const hanging = fetch(`${provider.url}/v1/payment_intents`, {
      method: 'POST',
      headers: { Authorization: 'Bearer sk_test_mock', 'Idempotency-Key': 'key-1' },
      signal: leaving.signal,
    })
    await provider.waitForFault()
    leaving.abort()
    await expect(hanging).rejects.toThrow('aborted')

    let status = 409
    while (status === 409) status = (await post('/v1/payment_intents', BODY)).status

    expect(status).toBe(200)
  })
})

describe('retention', () => {
  test.each([
    ['is kept one second before 24 hours', 24 * HOUR_SECONDS - 1, 1],
    ['expires after 24 hours', 24 * HOUR_SECONDS, 2],
  ])('a key %s', async (_case, advance_seconds, executed) => {
    await provider.stripe.paymentIntents.create(payment(), key)
    await provider.control('POST', '/clock', { advance_seconds })

    await provider.stripe.paymentIntents.create(payment(), key)

    expect(await provider.executed()).toHaveLength(executed)
  })

  test('mode forget deletes the kept results and keeps no new ones', async () => {
    await provider.stripe.paymentIntents.create(payment(), key)
    await provider.control('POST', '/idempotency', { mode: 'forget' })

    await provider.stripe.paymentIntents.create(payment(), key)
    await provider.stripe.paymentIntents.create(payment(), key)

    expect(await provider.executed()).toHaveLength(3)
  })

  test('mode ignore executes every request and keeps the stored results', async () => {
    await provider.stripe.paymentIntents.create(payment(), key)
    await provider.control('POST', '/idempotency', { mode: 'ignore' })
    await provider.stripe.paymentIntents.create(payment({ amount: 500 }), key)
    await provider.control('POST', '/idempotency', { mode: 'keep' })

    const replayed = await provider.stripe.paymentIntents.create(payment(), key)

    expect(replayed.lastResponse.headers).toMatchObject({ 'idempotent-replayed': 'true' })
    expect(await provider.executed()).toHaveLength(2)
  })
})
