import { describe, expect, test } from '@jest/globals'
import { judgeMutant } from '../../../../verify/faults/mutants/run-mutants.ts'
import type { Mutant } from '../../../../verify/faults/mutants/mutants.ts'
import { CHARGED_TWICE, makeRun } from '../sample-runs.ts'

const mutant: Mutant = {
  name: 'no-rule',
  breaks: 'There is no rule.',
  patches: [],
  caughtBy: 1,
  shownBy: [],
}
const ofMutant = { mutant: 'no-rule' }
const shown = makeRun({ ...ofMutant, violations: [CHARGED_TWICE] })

describe('a mutant', () => {
  test('is caught by the first run that breaks the expected invariant', () => {
    const runs = [makeRun(ofMutant), shown]

    expect(judgeMutant(mutant, runs, [makeRun()])).toEqual({
      name: 'no-rule',
      breaks: 'There is no rule.',
      must_break: 1,
      caught_by: 1,
      case: shown.case,
      what: 'charged twice',
      runs: 2,
    })
  })

  test.each([
    ['another invariant broke', { violations: [{ invariant: 7, what: 'stuck' }] }, /7: stuck/],
    ['nothing broke', {}, /^nothing broke$/],
    [
      'its fault was not injected',
      { struck: 0 },
      /nothing broke, and the fault was not injected in 1 of 1 runs/,
    ],
  ])('survives when %s', (_, changes, what) => {
    const verdict = judgeMutant(mutant, [makeRun({ ...ofMutant, ...changes })], [makeRun()])

    expect(verdict).toMatchObject({ caught_by: null, case: null })
    expect(verdict.what).toMatch(what)
  })

  test('survives when the product itself fails the same run', () => {
    const control = makeRun({ violations: [{ invariant: 5, what: 'no ledger' }] })

    const verdict = judgeMutant(mutant, [shown], [control])

    expect(verdict).toMatchObject({ caught_by: null })
    expect(verdict.what).toMatch(/^the product itself fails payment\.create.*5: no ledger$/)
  })

  test('survives when it was not run', () => {
    expect(judgeMutant(mutant, [], [])).toMatchObject({ caught_by: null, what: 'it was not run' })
  })
})
