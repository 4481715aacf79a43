import { expect, test } from '@jest/globals'
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

test.each<[string, TryResult]>([
  ['no answer', NO_ANSWER],
  ['429', answer(429)],
  ['500', answer(500)],
  ['502 of a proxy', answer(502)],
  ['503', answer(503)],
  ['504 of a proxy', answer(504)],
  ['501', answer(501)],
  ['520 of a proxy', answer(520)],
  ['529', answer(529)],
  ['another answer than one of the service', { kind: 'no_answer', retryAfterMs: 1_000 }],
  ['409 with Retry-After, while the operation is running', answer(409, { retryAfterMs: 1_000 })],
  ['409 with Stripe-Should-Retry: true', answer(409, { shouldRetry: true })],
  ['408 for a request that arrived too slowly', answer(408, { problem: 'request-timeout' })],
])('retries after %s', (_, result) => {
  expect(decide(result)).toMatchObject({ retry: true })
})

test.each<[string, TryResult]>([
  ['200', answer(200)],
  ['201', answer(201)],
  ['202, which accepts the operation', answer(202, { retryAfterMs: 1_000 })],
  ['204', answer(204)],
  ['400', answer(400)],
  ['401', answer(401)],
  ['402', answer(402, { problem: 'payment-declined' })],
  ['404', answer(404)],
  ['408 for an operation that timed out', answer(408, { problem: 'operation-timed-out' })],
  ['409 without Retry-After, for a state', answer(409, { problem: 'invalid-state' })],
  ['410', answer(410)],
  ['422', answer(422)],
  ['500 with Stripe-Should-Retry: false', answer(500, { shouldRetry: false })],
  [
    '409 with Retry-After and Stripe-Should-Retry: false',
    answer(409, { shouldRetry: false, retryAfterMs: 1 }),
  ],
  ['a replay of a 500', answer(500, { isReplay: true })],
])('does not retry after the final answer %s', (_, result) => {
  expect(decide(result)).toEqual({ retry: false, reason: 'final' })
})

test('does not start a delay that would end after the deadline', () => {
  const busy = answer(503, { retryAfterMs: 5_000 })

  expect(decide(busy, { remainingMs: 5_001 })).toEqual({ retry: true, delayMs: 5_000 })
  expect(decide(busy, { remainingMs: 5_000 })).toEqual({ retry: false, reason: 'deadline' })
})

test.each([
  [1, 0, 0],
  [1, 1, 100],
  [2, 1, 200],
  [3, 0.5, 200],
  [4, 1, 800],
  [5, 1, 1_000],
  [7, 1, 1_000],
])('after %d failures, with the random number %d, waits %d ms', (failures, random, delayMs) => {
  expect(decide(NO_ANSWER, { failures }, random)).toEqual({ retry: true, delayMs })
})

test('respects Retry-After of something else than the service', () => {
  expect(decide({ kind: 'no_answer', retryAfterMs: 3_000 })).toEqual({
    retry: true,
    delayMs: 3_000,
  })
})

test('adds the jitter to Retry-After', () => {
  const busy = answer(429, { retryAfterMs: 3_000 })

  expect(decide(busy, {}, 0)).toEqual({ retry: true, delayMs: 3_000 })
  expect(decide(busy, {}, 1)).toEqual({ retry: true, delayMs: 3_100 })
})

test('counts every result as a failure, except an operation in progress', () => {
  const running = [
    answer(409, { problem: 'operation-in-progress', retryAfterMs: 1_000 }),
    answer(409, { problem: 'operation-in-progress', shouldRetry: true }),
    answer(409, { problem: 'outcome-unknown', retryAfterMs: 1_000 }),
  ]
  const others = [
    NO_ANSWER,
    answer(409),
    answer(409, { shouldRetry: true }),
    answer(409, { problem: 'invalid-state', shouldRetry: true }),
    answer(409, { problem: 'operation-in-progress', shouldRetry: false }),
    answer(429, { retryAfterMs: 1 }),
    answer(503),
  ]
  expect(running.map(isInProgress)).toEqual(running.map(() => true))
  expect(others.map(isInProgress)).toEqual(others.map(() => false))
})

test('without Retry-After, retries only the problems that are temporary', () => {
  const retried = Object.entries(problems)
    .filter(([problem, { status }]) => decide(answer(status, { problem })).retry)
    .map(([problem]) => problem)

  expect(retried.toSorted()).toEqual([
    'internal-error',
    'overloaded',
    'provider-unavailable',
    'rate-limited',
    'request-timeout',
    'store-unavailable',
    'too-many-active-keys',
    'too-many-concurrent-requests',
    'too-many-invalid-keys',
    'too-many-stored-keys',
  ])
})
