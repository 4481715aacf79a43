import { expect, test } from '@jest/globals'
import { checkRecovery, checkReturn } from '../../../verify/faults/results.ts'

test('a recovery may take 30 s, and a longer one breaks invariant 7', () => {
  expect(checkRecovery(30_000)).toEqual([])
  expect(checkRecovery(null)).toEqual([])
  expect(checkRecovery(30_001)).toEqual([
    { invariant: 7, what: 'recovery took 30001 ms; the limit is 30 s' },
  ])
})

test('the first payment after an outage may take 2 s', () => {
  expect(checkReturn(2_000, false)).toEqual([])
  expect(checkReturn(2_001, false)).toMatchObject([{ invariant: 7 }])
})

test('in a soak it waits for delayed work, and may take 30 s', () => {
  expect(checkReturn(30_000, true)).toEqual([])
  expect(checkReturn(30_001, true)).toMatchObject([{ invariant: 7 }])
})
