import { expect, test } from '@jest/globals'
import { nameRequest } from '../../../verify/faults/provider-proxy.ts'
import { callNames, calls } from '../../provider/stripe/adapter-calls.ts'

test.each(callNames)('the request of the call %s has its name', (name) => {
  expect(nameRequest('POST', calls[name].path.replace('*', 'pi_1'))).toBe(name)
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
