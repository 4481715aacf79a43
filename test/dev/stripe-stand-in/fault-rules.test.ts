// Which requests a rule strikes, and how often, without any request being sent.
import { expect, test } from '@jest/globals'
import type { ApiRequest } from '../../../dev/stripe-stand-in/api-request.ts'
import { createFaultRules, type FaultRule } from '../../../dev/stripe-stand-in/fault-rules.ts'
import { faultNames } from '../../../dev/stripe-stand-in/faults.ts'

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

/** The numbers of the requests that were struck, counted from 1. */
function strikes(rules: FaultRule[], requests: number): number[] {
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
])('a rule that names %s', (_case, match, isMatch) => {
  const faultRules = createFaultRules()
  faultRules.add(rule({ match }))

  expect(faultRules.pick(request()) !== undefined).toBe(isMatch)
})

test('a rule strikes once, or as often as it says', () => {
  expect(strikes([rule()], 5)).toEqual([1])
  expect(strikes([rule({ times: 3 })], 5)).toEqual([1, 2, 3])
})

test('a rule with nth strikes the nth request, or as many from there as it says', () => {
  expect(strikes([rule({ match: { nth: 3 } })], 5)).toEqual([3])
  expect(strikes([rule({ match: { nth: 3 }, times: 2 })], 5)).toEqual([3, 4])
})

test('when two rules are due, then the first strikes and the second waits', () => {
  expect(strikes([rule(), rule()], 5)).toEqual([1, 2])
})

test('rules tell how often they matched and struck', () => {
  const faultRules = createFaultRules()
  faultRules.add(rule({ match: { nth: 2 } }))
  for (let count = 0; count < 3; count += 1) faultRules.pick(request())
  faultRules.pick(request({ path: '/v1/refunds' }))

  expect(faultRules.list()).toEqual([{ ...rule({ match: { nth: 2 } }), matched: 4, struck: 1 }])
})

test.each(faultNames)('pm_fault_%s strikes the first request of each key', (fault) => {
  const faultRules = createFaultRules()
  const struck = (idempotencyKey: string) =>
    faultRules.pick(request({ params: { payment_method: `pm_fault_${fault}` }, idempotencyKey }))

  expect(struck('key-1')).toEqual({ fault, delayMs: 1000 })
  expect(struck('key-1')).toBeUndefined()
  expect(struck('key-2')).toEqual({ fault, delayMs: 1000 })
})

test('a payment method with a fault keeps in mind whom it struck until reset', () => {
  const faultRules = createFaultRules()
  const keyed = request({ params: { payment_method: 'pm_fault_delay' }, idempotencyKey: 'key-1' })
  faultRules.pick(keyed)

  faultRules.clear()
  expect(faultRules.pick(keyed)).toBeUndefined()
  faultRules.reset()
  expect(faultRules.pick(keyed)?.fault).toBe('delay')
})

test('a payment method with a fault strikes each time when there is no key', () => {
  const faultRules = createFaultRules()
  const params = { payment_method: 'pm_fault_reset_after' }

  expect(faultRules.pick(request({ params }))?.fault).toBe('reset_after')
  expect(faultRules.pick(request({ params }))?.fault).toBe('reset_after')
})
