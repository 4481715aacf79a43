// Sample results of runs, for tests of the reports.
import type { RunResult } from '../../../verify/faults/results.ts'
import type { SuiteFacts } from '../../../verify/faults/report.ts'

const POINTS = [
  'worker/claim/Bind#1/before',
  'worker/advance/CommandComplete#1/before',
  'worker/finish/CommandComplete#1/before',
]

/** A run of `payment.create` that passed, with SIGKILL at the first point. */
export function makeRun(changes: Partial<RunResult> = {}): RunResult {
  const faults = changes.faults ?? ['SIGKILL']
  const points = changes.points ?? faults.map(() => POINTS[0] ?? '')
  const injections = faults.map((fault, index) => `${fault}@${points[index]}`).join('+')
  return {
    case: injections === '' ? 'payment.create' : `payment.create:${injections}`,
    scenario: 'payment.create',
    faults,
    points,
    mutant: null,
    provider: 'idempotent',
    struck: faults.length,
    violations: [],
    recoveryMs: 1_200,
    returnMs: null,
    outcome: '201 succeeded',
    durationMs: 1_500,
    ...changes,
  }
}

export const CHARGED_TWICE = { invariant: 1, what: 'charged twice' }

export const FACTS: SuiteFacts = {
  commit: 'abc1234',
  at: '2026-01-31T12:00:00.000Z',
  mode: 'quick',
  seed: 1,
  seconds: 61,
  machine: '2 × a processor',
  counted: { 'payment.create': POINTS },
}
