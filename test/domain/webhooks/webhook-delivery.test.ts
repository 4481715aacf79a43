import { describe, expect, test } from '@jest/globals'
import {
  judgeReply,
  readRetryAfter,
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

describe('the receiver asks with Retry-After', () => {
  const now = new Date('2026-11-06T08:39:37Z')

  test.each([
    ['120', 120],
    ['0120', 120],
    ['99999999999', 99_999_999_999],
    ['Fri, 06 Nov 2026 08:49:37 GMT', 600],
    ['Friday, 06-Nov-26 08:49:37 GMT', 600],
    ['Fri Nov  6 08:49:37 2026', 600],
    ['Sun, 06 Nov 1994 08:49:37 GMT', expect.any(Number)],
    ['-120', undefined],
    ['120.5', undefined],
    ['tomorrow', undefined],
    ['2099-01-01T00:00:00Z', undefined],
    ['Fri, 45 Foo 2099 99:99:99 GMT', undefined],
  ])('%s: to wait for %s seconds', (value, seconds) => {
    expect(readRetryAfter(value, now)).toEqual(seconds)
  })

  test.each([
    ['more', 120, 120],
    ['more than a day', 99_999_999_999, 86_400],
    ['less', 1, 4.5],
    ['a time in the past', -1_000, 4.5],
  ])('for %s than the schedule: at least %i s, %d s in the end', (_what, asked, seconds) => {
    expect(retryDelaySeconds(0, 0, asked)).toBe(seconds)
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
