// Tests every fault over real HTTP: what the official client sees, and whether the request
// executed.
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { describe, expect, test } from '@jest/globals'
import type { Stripe } from 'stripe'
import { faultNames, type FaultName } from '../../../../dev/stripe-stand-in/faults/faults.ts'
import { payment, startProvider } from '../running-provider.ts'
import { ownProvider } from '../../../support/own-provider.ts'

const provider = ownProvider()

const key = { idempotencyKey: 'key-1' }
const hangTimeout = { ...key, timeout: 300 }

/** After a closed connection the client retries once, half a second later and with the same key. */
const ALSO_THE_RETRY = { times: 2 }
const LONGER_THAN_THE_RETRY_PAUSE = { delayMs: 1500 }

const connectionError = { type: 'StripeConnectionError' }

const serverError = { type: 'StripeAPIError', statusCode: 500 }

/** Stripe keeps a 500 as the result of the key: https://docs.stripe.com/error-low-level */
const storedFailure = { sees: serverError, afterwards: serverError }

/** It executes after the test, and its key is in flight until then. */
const inFlight = {
  afterwards: { statusCode: 409, code: 'idempotency_key_in_use' },
  executed: 0,
  delayMs: 600_000,
} as const

interface Expectation {
  sees: object
  /** What a retry with the key sees; by default the payment. */
  afterwards?: object
  executed: 0 | 1
  times?: number
  delayMs?: number
}

/** What the client sees of each fault, and how many payments are executed by then. */
const expected: Record<FaultName, Expectation> = {
  refuse: {
    sees: { ...connectionError, detail: { code: 'ECONNREFUSED' } },
    executed: 0,
    ...LONGER_THAN_THE_RETRY_PAUSE,
  },
  reset_before: {
    sees: { ...connectionError, detail: { code: 'ECONNRESET' } },
    executed: 0,
    ...ALSO_THE_RETRY,
  },
  reset_after: {
    sees: { ...connectionError, detail: { code: 'ECONNRESET' } },
    executed: 1,
    ...ALSO_THE_RETRY,
  },
  reset_late: {
    sees: { ...connectionError, detail: { code: 'ECONNRESET' } },
    ...inFlight,
    ...ALSO_THE_RETRY,
  },
  hang_late: { sees: { ...connectionError, detail: { code: 'ETIMEDOUT' } }, ...inFlight },
  hang_before: { sees: { ...connectionError, detail: { code: 'ETIMEDOUT' } }, executed: 0 },
  hang_after: { sees: { ...connectionError, detail: { code: 'ETIMEDOUT' } }, executed: 1 },
  error_500_before: { ...storedFailure, executed: 0 },
  error_500_after: { ...storedFailure, executed: 1 },
  error_500_late: { ...storedFailure, executed: 0, delayMs: 600_000 },
  error_500_early: { sees: serverError, executed: 0 },
  error_500_final: { ...storedFailure, executed: 1 },
  unavailable: { sees: { type: 'StripeAPIError', statusCode: 503 }, executed: 0 },
  rate_limited: { sees: { type: 'StripeRateLimitError', statusCode: 429 }, executed: 0 },
  lock_timeout: { sees: { statusCode: 429, code: 'lock_timeout' }, executed: 0 },
  conflict: { sees: { statusCode: 409, code: 'idempotency_key_in_use' }, executed: 0 },
  truncated_body: { sees: connectionError, executed: 1 },
  nonsense_body: {
    sees: { type: 'StripeAPIError', message: 'Invalid JSON received from the Stripe API' },
    executed: 1,
  },
  wrong_amount: { sees: { status: 'succeeded', amount: 1001, amount_received: 1001 }, executed: 1 },
  delay: { sees: { status: 'succeeded', amount: 1000 }, executed: 1 },
  slow_drip: { sees: { status: 'succeeded', amount: 1000 }, executed: 1 },
}

async function pay(
  terms: Partial<Stripe.PaymentIntentCreateParams>,
  options: Stripe.RequestOptions,
): Promise<unknown> {
  return provider.stripe.paymentIntents.create(payment(terms), options).catch((error) => error)
}

/** Sends a request without a client that retries, and resolves to the status. */
async function send(method: string, url: string, agent?: Agent): Promise<number | undefined> {
  const headers = { Authorization: 'Bearer sk_test_mock' }
  const sent = request(`${url}/v1/payment_intents`, { method, headers, agent }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  await once(response.resume(), 'end')
  return response.statusCode
}

async function untilListening(): Promise<void> {
  for (let isListening = false; !isListening;) {
    isListening = await provider.control('GET', '/health').then(
      () => true,
      () => false,
    )
  }
}

describe.each(faultNames)('%s', (fault) => {
  const { sees, afterwards, executed, times = 1, delayMs = 40 } = expected[fault]
  const options = fault.startsWith('hang') ? hangTimeout : key

  test('fails as documented, and a retry with the key does not charge again', async () => {
    await provider.addFault({ fault, times, delay_ms: delayMs })

    expect(await pay({}, options)).toMatchObject(sees)
    await untilListening()
    expect(await provider.executed()).toHaveLength(executed)

    const paid = { status: 'succeeded', amount: 1000 }
    expect(await pay({}, key)).toMatchObject(afterwards ?? paid)
    expect(await provider.executed()).toHaveLength(afterwards === undefined ? 1 : executed)
    const otherKey = { idempotencyKey: 'key-2' }
    expect(await pay({}, otherKey)).toMatchObject(paid)
  })
})

describe('a fault', () => {
  test('is injected by the payment method of its name, once for each key', async () => {
    const terms = { payment_method: 'pm_fault_unavailable' }

    expect(await pay(terms, key)).toMatchObject({ statusCode: 503 })
    expect(await pay(terms, key)).toMatchObject({ status: 'succeeded' })
    expect(await pay(terms, { idempotencyKey: 'key-2' })).toMatchObject({ statusCode: 503 })
  })

  test('is injected into a replay', async () => {
    await pay({}, key)
    await provider.addFault({ fault: 'wrong_amount' })

    expect(await pay({}, key)).toMatchObject({ amount: 1001 })
    expect(await pay({}, key)).toMatchObject({ amount: 1000 })
    expect(await provider.executed()).toHaveLength(1)
  })

  test('after a refusal leaves the key free', async () => {
    await provider.addFault({ fault: 'nonsense_body' })

    expect(await pay({ amount: 0 }, key)).toMatchObject({ type: 'StripeAPIError' })
    expect(await pay({}, key)).toMatchObject({ status: 'succeeded' })
  })
})

test('slow_drip sends the body in pieces', async () => {
  await provider.addFault({ fault: 'slow_drip', delay_ms: 100 })
  const headers = { Authorization: 'Bearer sk_test_mock' }

  const response = await fetch(`${provider.url}/v1/payment_intents`, { headers })
  const pieces: Uint8Array[] = []
  for await (const piece of response.body ?? []) pieces.push(piece)

  expect(pieces.length).toBeGreaterThan(1)
  expect(JSON.parse(Buffer.concat(pieces).toString())).toMatchObject({ object: 'list' })
})

describe('refuse', () => {
  test('resets requests on a connection that was open before', async () => {
    const other = await startProvider()
    await other.addFault({ fault: 'delay', delay_ms: 1000, match: { method: 'GET' } })
    await other.addFault({ fault: 'refuse', delay_ms: 600_000, match: { method: 'POST' } })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const answered = send('GET', other.url, agent)
    await other.waitForFault()
    await expect(send('POST', other.url)).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(await answered).toBe(200)

    await expect(send('GET', other.url, agent)).rejects.toMatchObject({ code: 'ECONNRESET' })

    agent.destroy()
    await other.close()
  })
})
