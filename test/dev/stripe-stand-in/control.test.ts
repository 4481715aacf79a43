// Tests the control routes over HTTP, as the fault suite uses them.
import { describe, expect, test } from '@jest/globals'
import { payment } from './running-provider.ts'
import { ownProvider } from '../../support/own-provider.ts'

const T0_MS = 1_800_000_000_000

const provider = ownProvider({ systemNow: () => T0_MS })

test.each([400, -400])('sets the clock %i s ahead, which dates answers, too', async (ahead) => {
  const moved = await provider.control('POST', '/clock', { ahead_seconds: ahead })
  const intent = await provider.stripe.paymentIntents.create(payment())

  const expected = new Date(T0_MS + ahead * 1_000)
  expect(moved).toEqual({ now: expected.toISOString() })
  expect(intent.created).toBe(T0_MS / 1000 + ahead)
  expect(intent.lastResponse.headers['date']).toBe(expected.toUTCString())
})

test('reset deletes all data and settings', async () => {
  const intent = await provider.stripe.paymentIntents.create(payment(), { idempotencyKey: 'key-1' })
  await provider.addFault({ fault: 'delay' })
  await provider.control('POST', '/clock', { advance_seconds: 90 })
  await provider.control('POST', '/idempotency', { mode: 'ignore' })

  await provider.control('POST', '/reset')

  expect(await provider.executed()).toEqual([])
  expect(await provider.control('GET', '/faults')).toEqual({ data: [] })
  await expect(provider.stripe.paymentIntents.retrieve(intent.id)).rejects.toThrow('No such')
  const key = { idempotencyKey: 'key-1' }
  const first = await provider.stripe.paymentIntents.create(payment(), key)
  const second = await provider.stripe.paymentIntents.create(payment(), key)
  expect(first.created).toBe(T0_MS / 1000)
  expect(second.id).toBe(first.id)
  expect(await provider.executed()).toMatchObject([{ seq: 1, id: first.id }])
})

describe('refuses an invalid control request', () => {
  test.each([
    ['an unknown fault', '/faults', { fault: 'explode' }, 'fault'],
    ['an unknown field', '/faults', { fault: 'delay', time: 1 }, 'time'],
    ['an unknown field of match', '/faults', { fault: 'delay', match: { verb: 'GET' } }, 'verb'],
    ['no fault', '/faults', {}, 'fault: Invalid option'],
    ['times of 0', '/faults', { fault: 'delay', times: 0 }, 'times'],
    ['a negative delay', '/faults', { fault: 'delay', delay_ms: -1 }, 'delay_ms'],
    ['a clock that goes back', '/clock', { advance_seconds: -1 }, 'advance_seconds'],
    ['an unknown mode', '/idempotency', { mode: 'lose' }, 'mode'],
  ])('%s', async (_case, route, body, word) => {
    const response = await fetch(`${provider.url}/_control${route}`, {
      method: 'POST',
      body: JSON.stringify(body),
    })

    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: { type: 'invalid_request_error', message: expect.stringContaining(word) },
    })
  })
})
