import { expect, test } from '@jest/globals'
import {
  resumptionOf,
  type ResumableOperation,
  type Resumption,
} from '../../../src/domain/operations/resumption.ts'

const WINDOW_MS = 1_000

const waiting: ResumableOperation = {
  status: 'pending',
  leaseRanOut: false,
  jobless: false,
  inDoubt: false,
  callsProvider: true,
  phaseAgeMs: null,
}

const table: [string, Partial<ResumableOperation>, Resumption][] = [
  ['is completed', { status: 'completed' }, 'nothing'],
  ['is unknown', { status: 'unknown', inDoubt: true, phaseAgeMs: 10 }, 'look_up'],
  ['is unknown, long ago', { status: 'unknown', inDoubt: true, phaseAgeMs: 9_999 }, 'look_up'],
  ['has failed', { status: 'failed_retryable' }, 'reopen'],
  ['waits for a job that is there', {}, 'nothing'],
  ['waits for a job that is gone', { jobless: true }, 'run'],
  [
    'waits without a job, its call in doubt',
    { jobless: true, inDoubt: true, phaseAgeMs: 999 },
    'repeat_call',
  ],
  [
    'waits without a job, its call in doubt for too long',
    { jobless: true, inDoubt: true, phaseAgeMs: 1_000 },
    'park',
  ],
  ['is leased', { status: 'processing', phaseAgeMs: 10 }, 'nothing'],
  [
    'was left by its owner',
    { status: 'processing', leaseRanOut: true, phaseAgeMs: 999 },
    'repeat_call',
  ],
  [
    'was left by its owner too long ago',
    { status: 'processing', leaseRanOut: true, phaseAgeMs: 1_000 },
    'park',
  ],
  [
    'was left by its owner where nobody is called',
    { status: 'processing', leaseRanOut: true, callsProvider: false, phaseAgeMs: 9_999 },
    'run',
  ],
]

test.each(table)('what %s is resumed as it can be', (_, fields, expected) => {
  expect(resumptionOf({ ...waiting, ...fields }, WINDOW_MS)).toBe(expected)
})
