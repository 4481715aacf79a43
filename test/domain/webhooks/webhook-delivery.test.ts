import { describe, expect, test } from '@jest/globals'
import {
  judgeReply,
  RETRY_DELAYS_SECONDS,
  retryDelaySeconds,
} from '../../../src/domain/webhooks/webhook-delivery.ts'

describe('the delay before the next attempt', () => {
  test.each([...RETRY_DELAYS_SECONDS.entries()])('after step %i is about %i s', (step, seconds) => {
    expect(retryDelaySeconds(step, 0.5)).toBeCloseTo(seconds)
    expect(retryDelaySeconds(step, 0)).toBeCloseTo(seconds * 0.9)
    expect(retryDelaySeconds(step, 1)).toBeCloseTo(seconds * 1.1)
  })

  test('is a number of milliseconds: more decimals look like a card number in the log', () => {
    expect(retryDelaySeconds(0, 0.599_760_652_006_244)).toBe(5.1)
    expect(retryDelaySeconds(1, 1 / 3)).toBe(290)
    expect(retryDelaySeconds(0, 1 / 7)).toBe(4.643)
  })

  test('is undefined after the last attempt', () => {
    expect(retryDelaySeconds(RETRY_DELAYS_SECONDS.length, 0.5)).toBeUndefined()
  })

  test('adds up to more than three days', () => {
    const seconds = RETRY_DELAYS_SECONDS.reduce((sum, delay) => sum + delay, 0)
    expect(seconds / 86_400).toBeGreaterThan(3)
  })
})

describe('a reply', () => {
  test.each([200, 201, 204, 299])('of %i is a success', (httpStatus) => {
    expect(judgeReply({ httpStatus })).toBe('succeeded')
  })

  test.each([301, 302, 307, 400, 404, 429, 500, 503])('of %i is a failure', (httpStatus) => {
    expect(judgeReply({ httpStatus })).toBe('failed')
  })

  test('of 410 disables the endpoint', () => {
    expect(judgeReply({ httpStatus: 410 })).toBe('gone')
  })

  test('that never arrived is a failure', () => {
    expect(judgeReply({ error: 'timeout' })).toBe('failed')
  })
})
