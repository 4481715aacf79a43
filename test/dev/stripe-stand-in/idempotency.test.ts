// Idempotency keys, held to what Stripe documents of them.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createClient, payment, startProvider, type RunningProvider } from './running-provider.ts'

const HOUR_SECONDS = 3600
const key = { idempotencyKey: 'key-1' }

let provider: RunningProvider

beforeAll(async () => {
  provider = await startProvider({ systemNow: () => 1_800_000_000_000 })
})
beforeEach(async () => {
  await provider.control('POST', '/reset')
})
afterAll(async () => provider.close())

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

const BODY = 'amount=1000&currency=eur&confirm=true&payment_method=pm_card_visa'

describe('the same key again', () => {
  test('when nothing else differs, then the first answer is replayed to the byte', async () => {
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

  test('when only the order of the parameters differs, then it is replayed', async () => {
    await post('/v1/payment_intents', BODY)
    const second = await post('/v1/payment_intents', BODY.split('&').toReversed().join('&'))

    expect(second.headers.get('idempotent-replayed')).toBe('true')
  })

  test('when the parameters differ, then 400 idempotency_error', async () => {
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

  test('when the path differs, then 400 idempotency_error', async () => {
    const held = await provider.stripe.paymentIntents.create(payment({ capture_method: 'manual' }))
    await provider.stripe.paymentIntents.capture(held.id, {}, key)

    await expect(provider.stripe.paymentIntents.cancel(held.id, {}, key)).rejects.toMatchObject({
      type: 'StripeIdempotencyError',
    })
  })

  test('when the secret key is another one, then the keys do not meet', async () => {
    const other = createClient(Number(new URL(provider.url).port), { apiKey: 'sk_test_other' })
    await provider.stripe.paymentIntents.create(payment(), key)

    await other.paymentIntents.create(payment(), key)

    expect(await provider.executed()).toHaveLength(2)
  })
})

describe('what is kept', () => {
  test('a decline is kept', async () => {
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

  test('a refusal that follows from the state of an object is kept', async () => {
    const held = await provider.stripe.paymentIntents.create(payment())
    const again = async () =>
      provider.stripe.paymentIntents.capture(held.id, {}, key).catch((error: unknown) => error)
    await again()

    expect(await again()).toMatchObject({ headers: { 'idempotent-replayed': 'true' } })
  })

  test('a refusal of the parameters is not kept, and the key is still free', async () => {
    await expect(
      provider.stripe.paymentIntents.create(payment({ amount: 0 }), key),
    ).rejects.toMatchObject({ statusCode: 400 })

    const intent = await provider.stripe.paymentIntents.create(payment(), key)

    expect(intent.status).toBe('succeeded')
  })

  test('a key on a GET is ignored', async () => {
    const intent = await provider.stripe.paymentIntents.create(payment(), key)

    const retrieved = await fetch(`${provider.url}/v1/payment_intents/${intent.id}`, {
      headers: { Authorization: 'Bearer sk_test_mock', 'Idempotency-Key': 'key-1' },
    })

    expect(retrieved.status).toBe(200)
    expect(retrieved.headers.get('idempotent-replayed')).toBeNull()
  })
})

describe('a key in flight', () => {
  test.each(['hang_before', 'delay'])('is refused while %s holds it', async (fault) => {
    await provider.addFault({ fault, delay_ms: 600_000 })
    const first = provider.stripe.paymentIntents.create(payment(), key)
    await provider.waitForFault()

    await expect(provider.stripe.paymentIntents.create(payment(), key)).rejects.toMatchObject({
      statusCode: 409,
      code: 'idempotency_key_in_use',
    })

    // The client repeats a request whose connection was closed, with the same key.
    await provider.control('DELETE', '/faults')
    expect(await first).toMatchObject({ status: 'succeeded' })
    expect(await provider.executed()).toHaveLength(1)
  })

  test('is free again once the client of a request that hangs has left', async () => {
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

describe('forgetting', () => {
  test.each([
    ['one second before 24 hours, is still there', 24 * HOUR_SECONDS - 1, 1],
    ['after 24 hours, is gone', 24 * HOUR_SECONDS, 2],
  ])('a key, %s', async (_case, advance_seconds, executed) => {
    await provider.stripe.paymentIntents.create(payment(), key)
    await provider.control('POST', '/clock', { advance_seconds })

    await provider.stripe.paymentIntents.create(payment(), key)

    expect(await provider.executed()).toHaveLength(executed)
  })

  test('in mode forget, kept results are dropped and no more are kept', async () => {
    await provider.stripe.paymentIntents.create(payment(), key)
    await provider.control('POST', '/idempotency', { mode: 'forget' })

    await provider.stripe.paymentIntents.create(payment(), key)
    await provider.stripe.paymentIntents.create(payment(), key)

    expect(await provider.executed()).toHaveLength(3)
  })

  test('in mode forget, a key in flight is still refused', async () => {
    await provider.control('POST', '/idempotency', { mode: 'forget' })
    await provider.addFault({ fault: 'hang_before' })
    const first = provider.stripe.paymentIntents.create(payment(), key)
    await provider.waitForFault()

    await expect(provider.stripe.paymentIntents.create(payment(), key)).rejects.toMatchObject({
      statusCode: 409,
    })

    await provider.control('DELETE', '/faults')
    await first
  })

  test('in mode ignore, keys are not looked at, and those kept are there afterwards', async () => {
    await provider.stripe.paymentIntents.create(payment(), key)
    await provider.control('POST', '/idempotency', { mode: 'ignore' })
    await provider.stripe.paymentIntents.create(payment({ amount: 5 }), key)
    await provider.control('POST', '/idempotency', { mode: 'keep' })

    const replayed = await provider.stripe.paymentIntents.create(payment(), key)

    expect(replayed.lastResponse.headers).toMatchObject({ 'idempotent-replayed': 'true' })
    expect(await provider.executed()).toHaveLength(2)
  })
})
