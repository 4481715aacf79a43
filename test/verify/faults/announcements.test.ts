import { expect, test } from '@jest/globals'
import { checkAnnouncements, type Announcement } from '../../../verify/faults/checks.ts'

const payment: Announcement = {
  kind: 'payment',
  id: '7',
  status: 'succeeded',
  announced: 'succeeded',
  created: 1,
}

test('a payment whose newest event has its status is announced', () => {
  expect(checkAnnouncements([payment])).toEqual([])
})

test.each([
  [{ announced: 'processing' }, 'payment 7 is succeeded, and announced as processing'],
  [{ announced: null }, 'payment 7 is succeeded, and announced as null'],
  [{ created: 0 }, 'payment 7 was announced as created 0 times'],
  [{ created: 2 }, 'payment 7 was announced as created 2 times'],
])('detects %j', (change, what) => {
  expect(checkAnnouncements([{ ...payment, ...change }])).toEqual([{ invariant: 5, what }])
})
