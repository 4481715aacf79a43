import { expect, test } from '@jest/globals'
import { CHARGED_TWICE, makeRun } from './sample-runs.ts'
import { mayBeStalled, verdictOf } from '../../../verify/faults/results.ts'

const PAIR = ['SIGKILL', 'reset']

test.each([
  ['passed', 'has no fault', { faults: [] }],
  ['passed', 'had its fault', {}],
  ['passed', 'had both faults', { faults: PAIR }],
  ['missed', 'had one of two faults', { faults: PAIR, struck: 1 }],
  ['failed', 'did not have its fault', { struck: 0 }],
  [
    'missed',
    'did not have its fault at a point that depends on timing',
    { struck: 0, isByChance: true },
  ],
  ['failed', 'had none of two faults', { faults: PAIR, struck: 0 }],
  [
    'failed',
    'had one of two faults, and broke an invariant',
    {
      faults: PAIR,
      struck: 1,
      violations: [CHARGED_TWICE],
    },
  ],
] as const)('%s: a run that %s', (verdict, _, changes) => {
  expect(verdictOf(makeRun(changes))).toBe(verdict)
})

test.each([
  [true, 'took too long', [{ invariant: 7, what: 'recovery took 45 s' }]],
  [true, 'had no fault', []],
  [false, 'charged twice', [CHARGED_TWICE]],
  [false, 'took too long and charged twice', [{ invariant: 7, what: 'late' }, CHARGED_TWICE]],
])('%s: a machine that stood still may have failed a run that %s', (expected, _, violations) => {
  expect(mayBeStalled(makeRun({ violations }))).toBe(expected)
})
