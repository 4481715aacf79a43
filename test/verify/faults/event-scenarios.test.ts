import { expect, test } from '@jest/globals'
import { compareStates } from '../../../verify/faults/event-scenarios.ts'

test.each([
  ['requires_action', 'requires_action'],
  ['succeeded', 'succeeded'],
  ['canceled', 'declined'],
])('an intent that is %s agrees with a payment that is %s', (theirs, ours) => {
  expect(compareStates(theirs, ours)).toEqual([])
})

test.each([
  ['succeeded', 'requires_action'],
  ['requires_action', 'declined'],
  ['canceled', 'succeeded'],
  // The provider still holds the money, or would accept another card.
  ['requires_capture', 'succeeded'],
  ['requires_payment_method', 'declined'],
])('an intent that is %s and a payment that is %s break invariant 5', (theirs, ours) => {
  expect(compareStates(theirs, ours)).toMatchObject([{ invariant: 5 }])
})
