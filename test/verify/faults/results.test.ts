import { expect, test } from '@jest/globals'
import { CHARGED_TWICE, makeRun } from './report/made-up-runs.ts'
import { verdictOf } from '../../../verify/faults/results.ts'

const PAIR = ['SIGKILL', 'reset']

test.each([
  ['passed', 'has no strike', { faults: [] }],
  ['passed', 'was struck', {}],
  ['passed', 'was struck by both', { faults: PAIR }],
  ['missed', 'was struck by one of two', { faults: PAIR, struck: 1 }],
  ['failed', 'was not struck', { struck: 0 }],
  ['failed', 'was struck by none of two', { faults: PAIR, struck: 0 }],
  [
    'failed',
    'was struck by one of two, and broke',
    {
      faults: PAIR,
      struck: 1,
      violations: [CHARGED_TWICE],
    },
  ],
] as const)('%s: a run that %s', (verdict, _, changes) => {
  expect(verdictOf(makeRun(changes))).toBe(verdict)
})
