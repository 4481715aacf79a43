// Tests the look-ups of a call's result: what they find, and that a failed look-up proves nothing,
// because an absence that is not proved would allow a second charge.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { faultNames } from '../../../dev/stripe-stand-in/faults/faults.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import { startProvider, type RunningProvider } from '../../dev/stripe-stand-in/running-provider.ts'
import { adapterFor, callNames, calls, identityOf, paymentOf, traceOf } from './adapter-calls.ts'
import { answerJson, startAnsweringServer, type AnsweringServer } from './answering-server.ts'

const nowMs = 1_800_000_000_000

let provider: RunningProvider
let adapter: PaymentProvider

beforeAll(async () => {
  provider = await startProvider({ systemNow: () => nowMs })
  adapter = adapterFor(provider.url)
})
beforeEach(async () => {
  await provider.control('POST', '/reset')
})
afterAll(async () => provider.close())

test.each(callNames)(
  '%s: what it has done is found, and looking executes nothing',
  async (name) => {
    const payment = await calls[name].ready(adapter)
    const identity = identityOf(name)
    const before = await calls[name].find(adapter, payment, traceOf(identity, nowMs))
    const made = await calls[name].make(adapter, payment, identity)
    const executed = await provider.executed()

    const after = await calls[name].find(adapter, payment, traceOf(identity, nowMs))

    expect(before.outcome).toBe('not_executed')
    expect(after).toMatchObject({ outcome: 'done', value: (made as { value: unknown }).value })
    expect(await provider.executed()).toEqual(executed)
  },
)

/**
 * Without faults that answer in the end, affect other tests, or change an amount, which lists do
 * not have.
 */
const failing = faultNames.filter(
  (name) => !['delay', 'refuse', 'slow_drip', 'wrong_amount'].includes(name),
)
const failures = callNames.flatMap((name) => failing.map((fault) => ({ name, fault })))

test.each(failures)(
  '$name: a look-up that meets $fault proves nothing',
  async ({ name, fault }) => {
    const payment = await calls[name].ready(adapter)
    await provider.addFault({ match: { method: 'GET' }, fault })

    const found = await calls[name].find(
      adapterFor(provider.url, 300),
      payment,
      traceOf(identityOf(name), nowMs),
    )

    expect(found.outcome).toBe('unknown')
  },
)

test.each(callNames)(
  '%s: a look that drips in beyond the time limit proves nothing',
  async (name) => {
    const payment = await calls[name].ready(adapter)
    await provider.addFault({ match: { method: 'GET' }, fault: 'slow_drip', delay_ms: 60_000 })

    const found = await calls[name].find(
      adapterFor(provider.url, 100),
      payment,
      traceOf(identityOf(name), nowMs),
    )

    expect(found).toMatchObject({ outcome: 'unknown', answered: { error: 'timeout' } })
  },
)

describe('at a server with unexpected answers', () => {
  let server: AnsweringServer
  afterEach(async () => server.close())

  const bodies = [
    null,
    [],
    7,
    {},
    { object: 'list', data: [] },
    { object: 'list', data: {}, has_more: false },
    { object: 'list', data: [{ id: 'pi_1' }], has_more: false },
    { object: 'list', data: [{ id: 'pi_1', metadata: {} }], has_more: true },
    { object: 'list', data: [], has_more: true },
  ]
  const cases = callNames.flatMap((name) => bodies.map((body) => ({ name, body })))

  test.each(cases)('$name: $body proves nothing', async ({ name, body }) => {
    server = await startAnsweringServer(answerJson(200, body))
    const payment = paymentOf({ providerPaymentId: 'pi_1' })

    const found = await calls[name].find(
      adapterFor(server.url),
      payment,
      traceOf(identityOf(name), nowMs),
    )

    expect(found.outcome).toBe('unknown')
  })

  const refusals = [400, 401, 402, 403, 404, 409, 429, 500].map((status) => ({ status }))
  test.each(callNames.flatMap((name) => refusals.map(({ status }) => ({ name, status }))))(
    '$name: a look that is refused with $status proves nothing',
    async ({ name, status }) => {
      const error = { type: 'invalid_request_error', message: 'No.', code: 'resource_missing' }
      server = await startAnsweringServer(answerJson(status, { error }))
      const payment = paymentOf({ providerPaymentId: 'pi_1' })

      const found = await calls[name].find(
        adapterFor(server.url),
        payment,
        traceOf(identityOf(name), nowMs),
      )

      expect(found).toMatchObject({ outcome: 'unknown', reason: expect.any(String) })
    },
  )

  test.each(callNames)('%s: a missing server proves nothing', async (name) => {
    server = await startAnsweringServer(() => {})
    await server.close()
    const payment = paymentOf({ providerPaymentId: 'pi_1' })

    const found = await calls[name].find(
      adapterFor(server.url),
      payment,
      traceOf(identityOf(name), nowMs),
    )

    expect(found).toMatchObject({ outcome: 'unknown', answered: { error: 'ECONNREFUSED' } })
  })
})
