// Tests requests that Stripe executes although their client has left, or already has a 500
// (https://docs.stripe.com/error-low-level). The stand-in plays the time by its own clock.
import { beforeEach, describe, expect, test } from '@jest/globals'
import { createClient, payment } from '../running-provider.ts'
import { ownProvider } from '../../../support/own-provider.ts'

const KEY = { idempotencyKey: 'key-1' }
const HELD = payment({ capture_method: 'manual' })

const provider = ownProvider({ webhookUrl: 'http://127.0.0.1:9' })

/** A client that leaves after a moment, and repeats nothing. */
const impatient = () => createClient(Number(new URL(provider.url).port), { timeout: 200 })

const pay = (stripe = provider.stripe) =>
  stripe.paymentIntents.create(HELD, KEY).catch((error: unknown) => error)

const pass = (seconds: number) => provider.control('POST', '/clock', { advance_seconds: seconds })

const listed = async () => (await provider.stripe.paymentIntents.list()).data

async function eventTypes(): Promise<string[]> {
  const { data } = await provider.control<{ data: { type: string }[] }>('GET', '/webhooks')
  return data.map(({ type }) => type)
}

describe.each(['reset_late', 'hang_late'])('a call whose client has left (%s)', (fault) => {
  const leave = async () => {
    // The client repeats a request once whose connection was closed.
    await provider.addFault({ fault, delay_ms: 80_000, times: fault === 'reset_late' ? 2 : 1 })
    await pay(impatient())
  }

  test('is executed later, with its events, and nothing shows it before', async () => {
    await leave()
    await pass(79)
    expect(await listed()).toEqual([])
    expect(await eventTypes()).toEqual([])

    await pass(2)

    expect(await listed()).toMatchObject([{ status: 'requires_capture' }])
    expect(await provider.executed()).toMatchObject([{ idempotency_key: 'key-1' }])
    expect(await eventTypes()).toContain('payment_intent.amount_capturable_updated')
  })

  test('keeps its key in use until then, and its result afterwards', async () => {
    await leave()
    expect(await pay()).toMatchObject({ statusCode: 409, code: 'idempotency_key_in_use' })

    await pass(81)

    const [executed] = await provider.executed()
    expect(await pay()).toMatchObject({ id: executed?.id, status: 'requires_capture' })
    expect(await provider.executed()).toHaveLength(1)
  })
})

describe('after a 500', () => {
  beforeEach(() => provider.addFault({ fault: 'error_500_late', delay_ms: 3_600_000 }))

  test('Stripe may finish the work later and send events, and the saved answer stays', async () => {
    expect(await pay()).toMatchObject({ statusCode: 500 })
    await pass(3_599)
    expect(await listed()).toEqual([])

    await pass(2)

    expect(await listed()).toMatchObject([{ status: 'requires_capture' }])
    expect(await eventTypes()).toContain('payment_intent.amount_capturable_updated')
    expect(await pay()).toMatchObject({
      statusCode: 500,
      headers: { 'idempotent-replayed': 'true' },
    })
    expect(await provider.executed()).toHaveLength(1)
  })
})

test('what the state of the object does not allow any more is not done later', async () => {
  const intent = await provider.stripe.paymentIntents.create(HELD)
  const match = { path: '/v1/payment_intents/*/capture' }
  await provider.addFault({ match, fault: 'error_500_late', delay_ms: 60_000 })
  await provider.stripe.paymentIntents.capture(intent.id, {}, KEY).catch(() => {})
  await provider.stripe.paymentIntents.cancel(intent.id)

  await pass(61)

  const kinds = (await provider.executed()).map(({ kind }) => kind)
  expect(kinds).toEqual(['payment_intent.create', 'payment_intent.cancel'])
})

test('what is late executes at once when the rules are deleted, and never after a reset', async () => {
  await provider.addFault({ fault: 'error_500_late' })
  await pay()
  await provider.control('DELETE', '/faults')
  expect(await provider.executed()).toHaveLength(1)

  await provider.addFault({ fault: 'error_500_late' })
  await provider.stripe.paymentIntents.create(HELD, { idempotencyKey: 'key-2' }).catch(() => {})
  await provider.control('POST', '/reset')
  await pass(3_600)
  expect(await provider.executed()).toEqual([])
})
