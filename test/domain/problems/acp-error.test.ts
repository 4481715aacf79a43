// Tests the error object of the Agentic Commerce Protocol.
import { expect, test } from '@jest/globals'
import { acpError } from '../../../src/domain/problems/flavor.ts'

test.each([
  ['idempotency-key-missing', 'invalid_request', 'idempotency_key_required'],
  ['idempotency-key-reused', 'invalid_request', 'idempotency_conflict'],
  ['operation-in-progress', 'invalid_request', 'idempotency_in_flight'],
  ['outcome-unknown', 'invalid_request', 'idempotency_in_flight'],
  ['rate-limited', 'service_unavailable', 'rate_limited'],
  ['store-unavailable', 'service_unavailable', 'store_unavailable'],
  ['internal-error', 'processing_error', 'internal_error'],
] as const)('%s is %s, %s', (problem, type, code) => {
  expect(acpError(problem)).toEqual({ type, code, message: expect.any(String) })
})

test.each([
  ['/amount', '$.amount'],
  ['/metadata/order_id', '$.metadata.order_id'],
  ["/metadata/it's", String.raw`$.metadata['it\'s']`],
  ['/metadata/a~1b', "$.metadata['a/b']"],
  ['/metadata/a b', "$.metadata['a b']"],
  ['/event_types/0', '$.event_types[0]'],
  ['', '$'],
])('the place %s is the JSONPath %s', (pointer, param) => {
  const error = acpError('invalid-field', undefined, { errors: [{ pointer, detail: 'is wrong' }] })

  expect(error.param).toBe(param)
})

test('the code of a decline is the code, and nothing else of it is added', () => {
  const extensions = {
    payment: { id: 'pay_1' },
    error: { code: 'card_declined', decline_code: 'x' },
  }

  expect(acpError('payment-declined', 'No.', extensions)).toEqual({
    type: 'invalid_request',
    code: 'card_declined',
    message: 'No.',
  })
})
