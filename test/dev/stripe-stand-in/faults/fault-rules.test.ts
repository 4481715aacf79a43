// Tests into which requests a rule injects its fault, and how often. No request is sent.
import { expect, test } from '@jest/globals'
import type { ApiRequest } from '../../../../dev/stripe-stand-in/requests/api-request.ts'
import type { FaultRule as Rule } from '../../../../dev/stand-in/fault-rules.ts'
import { createFaultRules } from '../../../../dev/stripe-stand-in/faults/fault-rules.ts'
import { type FaultName } from '../../../../dev/stripe-stand-in/faults/faults.ts'

type FaultRule = Rule<FaultName>

function request(changes: Partial<ApiRequest> = {}): ApiRequest {
  return {
    method: 'POST',
    path: '/v1/payment_intents',
    objectId: '',
    params: { payment_method: 'pm_card_visa' },
    account: 'account',
    idempotencyKey: undefined,
    requestId: 'req_1',
    nowMs: 0,
    ...changes,
  }
}

function rule(changes: Partial<FaultRule> = {}): FaultRule {
  return { match: {}, fault: 'rate_limited', times: 1, delay_ms: 0, ...changes }
}

/** The numbers of the requests that got a fault, counted from 1. */
function faultedRequests(rules: FaultRule[], requests: number): number[] {
  const faultRules = createFaultRules()
  for (const added of rules) faultRules.add(added)
  const numbers = Array.from({ length: requests }, (_, index) => index + 1)
  return numbers.filter(() => faultRules.pick(request()) !== undefined)
}

test.each([
  ['nothing', {}, true],
  ['the method', { method: 'POST' }, true],
  ['another method', { method: 'GET' }, false],
  ['the path', { path: '/v1/payment_intents' }, true],
  ['a part of the path only', { path: '/v1/payment' }, false],
  ['the path with a star', { path: '/v1/pay*' }, true],
  ['another path with a star', { path: '/v1/payment_intents/*/capture' }, false],
  ['a path with a dot', { path: '/v1/payment.intents' }, false],
  ['the payment method', { payment_method: 'pm_card_visa' }, true],
  ['another payment method', { payment_method: 'pm_card_amex' }, false],
])('matches by %s', (_case, match, isMatch) => {
  const faultRules = createFaultRules()
  faultRules.add(rule({ match }))

  expect(faultRules.pick(request()) !== undefined).toBe(isMatch)
})

test('injects the fault once, or `times` times', () => {
  expect(faultedRequests([rule()], 5)).toEqual([1])
  expect(faultedRequests([rule({ times: 3 })], 5)).toEqual([1, 2, 3])
})

test('injects the fault into the nth request, or into `times` requests from there', () => {
  expect(faultedRequests([rule({ match: { nth: 3 } })], 5)).toEqual([3])
  expect(faultedRequests([rule({ match: { nth: 3 }, times: 2 })], 5)).toEqual([3, 4])
})

test('applies the first of two due rules, and the second to the next request', () => {
  expect(faultedRequests([rule(), rule()], 5)).toEqual([1, 2])
})

test('counts the matches and the injected faults of a rule', () => {
  const faultRules = createFaultRules()
  faultRules.add(rule({ match: { nth: 2 } }))
  for (let count = 0; count < 3; count += 1) faultRules.pick(request())
  faultRules.pick(request({ path: '/v1/refunds' }))

  expect(faultRules.list()).toEqual([{ ...rule({ match: { nth: 2 } }), matched: 4, struck: 1 }])
})

test('remembers until reset which keys got the fault of a payment method', () => {
  const faultRules = createFaultRules()
  const keyed = request({ params: { payment_method: 'pm_fault_delay' }, idempotencyKey: 'key-1' })
  faultRules.pick(keyed)

  faultRules.clear()
  expect(faultRules.pick(keyed)).toBeUndefined()
  faultRules.reset()
  expect(faultRules.pick(keyed)?.fault).toBe('delay')
})
