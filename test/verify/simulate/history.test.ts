import { expect, test } from '@jest/globals'
import { startHistory } from '../../../verify/simulate/history.ts'

test('the name of a run has a whole UUID: a part of one may look like a card number', () => {
  const [one, other] = [startHistory('sim'), startHistory('sim')]

  expect(one.run).toMatch(/^sim-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
  expect(other.run).not.toBe(one.run)
})
