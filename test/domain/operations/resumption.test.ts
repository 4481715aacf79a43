import { expect, test } from '@jest/globals'
import {
  resumptionOf,
  type ResumableOperation,
  type Resumption,
} from '../../../src/domain/operations/doubt-sentences.ts'

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
  [
    'has been unknown for a long time',
    { status: 'unknown', inDoubt: true, phaseAgeMs: 9_999 },
    'look_up',
  ],
  ['failed', { status: 'failed_retryable' }, 'reopen'],
  ['is pending with a job', {}, 'nothing'],
  ['is pending without a job', { jobless: true }, 'run'],
  [
    'is pending without a job, its call in doubt',
    { jobless: true, inDoubt: true, phaseAgeMs: 999 },
    'repeat_call',
  ],
  [
    'is pending without a job, its call in doubt for too long',
    { jobless: true, inDoubt: true, phaseAgeMs: 1_000 },
    'park',
  ],
  ['is leased', { status: 'processing', phaseAgeMs: 10 }, 'nothing'],
  ['lost its owner', { status: 'processing', leaseRanOut: true, phaseAgeMs: 999 }, 'repeat_call'],
  [
    'lost its owner too long ago',
    { status: 'processing', leaseRanOut: true, phaseAgeMs: 1_000 },
    'park',
  ],
  [
    'lost its owner in a local phase',
    { status: 'processing', leaseRanOut: true, callsProvider: false, phaseAgeMs: 9_999 },
    'run',
  ],
]

test.each(table)('resumes an operation that %s in the right way', (_, fields, expected) => {
  expect(resumptionOf({ ...waiting, ...fields }, WINDOW_MS)).toBe(expected)
})
