import { expect, test } from '@jest/globals'
import { nameRequest } from '../../../verify/faults/provider-proxy.ts'

test.each([
  ['authorize', '/v1/payment_intents'],
  ['capture', '/v1/payment_intents/pi_1/capture'],
  ['adjust', '/v1/payment_intents/pi_1/increment_authorization'],
  ['cancel', '/v1/payment_intents/pi_1/cancel'],
  ['refund', '/v1/refunds'],
])('the request of the call %s has its name', (name, path) => {
  expect(nameRequest('POST', path)).toBe(name)
})

test.each([
  ['look', '/v1/payment_intents/pi_1'],
  ['list', '/v1/payment_intents?limit=100'],
  ['list', '/v1/refunds'],
])('a read has the name %s', (name, url) => {
  expect(nameRequest('GET', url)).toBe(name)
})

test('a request that is no call of the port has the name call', () => {
  expect(nameRequest('POST', '/v1/payment_intents/pi_1/confirm')).toBe('call')
})
