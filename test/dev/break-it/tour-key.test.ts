import { expect, test } from '@jest/globals'
import { newKey } from '../../../dev/break-it/page/tour-key.js'
import { containsCardNumber } from '../../../src/domain/payments/card-number.ts'

test('no key of the tour is refused as a card number', () => {
  const keys = Array.from({ length: 1_000 }, newKey)

  expect(keys.filter(containsCardNumber)).toEqual([])
  expect(new Set(keys).size).toBe(keys.length)
})
