import { expect, test } from '@jest/globals'
import { labelOf, readLabel, type Case } from '../../../verify/faults/results.ts'

const first = { fault: 'SIGKILL', point: 'worker/advance/Sync#1/after' }
const second = { fault: 'reset', point: 'api/find-key/DataRow#2/before' }

test.each<[string, Case]>([
  ['payment.create', { scenario: 'payment.create', injections: [] }],
  [
    'payment.create:SIGKILL@worker/advance/Sync#1/after',
    { scenario: 'payment.create', injections: [first] },
  ],
  [
    'payment.create:SIGKILL@worker/advance/Sync#1/after+reset@api/find-key/DataRow#2/before',
    { scenario: 'payment.create', injections: [first, second] },
  ],
  [
    'refund.create~lying:reset@api/find-key/DataRow#2/before',
    { scenario: 'refund.create', provider: 'lying', injections: [second] },
  ],
])('%s is the label of its run, and is read back', (label, run) => {
  expect(labelOf(run)).toBe(label)
  expect(readLabel(label)).toEqual(run)
})

test.each(['', ':SIGKILL@a', 'payment.create:SIGKILL', 'payment.create:a@b@c'])(
  '"%s" is not a run label',
  (label) => {
    expect(() => readLabel(label)).toThrow(/is not a run label/)
  },
)
