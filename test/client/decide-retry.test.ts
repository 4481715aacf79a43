import { describe, expect, test } from '@jest/globals'
import {
  decideRetry,
  isInProgress,
  type CallState,
  type Decision,
  type TryResult,
} from '../../client/decide-retry.ts'
import { DEFAULT_POLICY } from '../../client/retry.ts'
import { problems } from '../../src/domain/problems/problems.ts'

const POLICY = { ...DEFAULT_POLICY, baseDelayMs: 100, maxDelayMs: 1_000, maxFailures: 8 }
const FIRST_FAILURE = { isIdempotent: true, failures: 1, remainingMs: 60_000 }
const NO_ANSWER: TryResult = { kind: 'no_answer' }

type Fields = Omit<Extract<TryResult, { kind: 'answer' }>, 'kind' | 'status'>

const answer = (status: number, fields: Fields = {}): TryResult => ({
  kind: 'answer',
  status,
  ...fields,
})

function decide(result: TryResult, soFar: Partial<CallState> = {}, random = 0): Decision {
  return decideRetry(result, { ...FIRST_FAILURE, ...soFar }, POLICY, random)
}

describe('what is tried again', () => {
  test.each<[string, TryResult]>([
    ['no answer', NO_ANSWER],
    ['429', answer(429)],
    ['500', answer(500)],
    ['502 of a proxy', answer(502)],
    ['503', answer(503)],
    ['504 of a proxy', answer(504)],
    ['409 with Retry-After, in flight', answer(409, { retryAfterMs: 1_000 })],
    ['409 that Stripe-Should-Retry asks to repeat', answer(409, { shouldRetry: true })],
    ['408 of a request that came too slowly', answer(408, { problem: 'request-timeout' })],
  ])('%s', (_, result) => {
    expect(decide(result)).toMatchObject({ repeat: true })
  })
})

describe('what is final', () => {
  test.each<[string, TryResult]>([
    ['200', answer(200)],
    ['201', answer(201)],
    ['202, which has accepted the call', answer(202, { retryAfterMs: 1_000 })],
    ['204', answer(204)],
    ['400', answer(400)],
    ['401', answer(401)],
    ['402', answer(402, { problem: 'payment-declined' })],
    ['404', answer(404)],
    ['408 of an operation that was given up', answer(408, { problem: 'operation-timed-out' })],
    ['409 without Retry-After, a state', answer(409, { problem: 'invalid-state' })],
    ['410', answer(410)],
    ['422', answer(422)],
    ['500 that Stripe-Should-Retry forbids to repeat', answer(500, { shouldRetry: false })],
    ['409 that is forbidden to repeat', answer(409, { shouldRetry: false, retryAfterMs: 1 })],
    ['a replay, whatever its status', answer(500, { isReplay: true })],
  ])('%s', (_, result) => {
    expect(decide(result)).toEqual({ repeat: false, because: 'final' })
  })
})

test.each([NO_ANSWER, answer(503, { retryAfterMs: 0 })])(
  'a POST without a key is not repeated, whatever its try brought',
  (result) => {
    expect(decide(result, { isIdempotent: false })).toEqual({ repeat: false, because: 'unsafe' })
  },
)

test('a call is given up after so many failures', () => {
  expect(decide(NO_ANSWER, { failures: 7 })).toMatchObject({ repeat: true })
  expect(decide(NO_ANSWER, { failures: 8 })).toEqual({ repeat: false, because: 'failures' })
})

test('a pause that ends after the deadline is not begun', () => {
  const busy = answer(503, { retryAfterMs: 5_000 })

  expect(decide(busy, { remainingMs: 5_001 })).toEqual({ repeat: true, delayMs: 5_000 })
  expect(decide(busy, { remainingMs: 5_000 })).toEqual({ repeat: false, because: 'deadline' })
})

test.each([
  [1, 0, 0],
  [1, 1, 100],
  [2, 1, 200],
  [3, 0.5, 200],
  [4, 1, 800],
  [5, 1, 1_000],
  [7, 1, 1_000],
])('after %d failures and with chance at %d, the pause is %d ms', (failures, random, delayMs) => {
  expect(decide(NO_ANSWER, { failures }, random)).toEqual({ repeat: true, delayMs })
})

test('the jitter is on top of what Retry-After asks for, never in its place', () => {
  const busy = answer(429, { retryAfterMs: 3_000 })

  expect(decide(busy, {}, 0)).toEqual({ repeat: true, delayMs: 3_000 })
  expect(decide(busy, {}, 1)).toEqual({ repeat: true, delayMs: 3_100 })
})

test('being told that the call is in flight is no failure, everything else is', () => {
  expect(isInProgress(answer(409, { retryAfterMs: 1_000 }))).toBe(true)
  const others = [NO_ANSWER, answer(409), answer(429, { retryAfterMs: 1 }), answer(503)]
  expect(others.map(isInProgress)).toEqual([false, false, false, false])
})

test('of the problems of the service that its answers give no Retry-After, none is repeated but 500, 503 and the rates', () => {
  const repeated = Object.entries(problems)
    .filter(([problem, { status }]) => decide(answer(status, { problem })).retry)
    .map(([problem]) => problem)

  expect(repeated.toSorted()).toEqual([
    'internal-error',
    'overloaded',
    'provider-unavailable',
    'rate-limited',
    'request-timeout',
    'store-unavailable',
    'too-many-active-keys',
  ])
})
