import { describe, expect, test } from '@jest/globals'
import { judgeMutant } from '../../../../verify/faults/mutants/verdict.ts'
import type { Mutant } from '../../../../verify/faults/mutants/mutant.ts'
import { CHARGED_TWICE, makeRun, makeSuite } from './sample-runs.ts'
import { makeReport } from '../../../../verify/faults/report/report.ts'

const mutant: Mutant = {
  name: 'no-rule',
  breaks: 'There is no rule.',
  patches: [],
  caughtBy: 1,
  shownBy: [],
}
const ofMutant = { mutant: 'no-rule' }
const shown = makeRun({ ...ofMutant, violations: [CHARGED_TWICE] })

describe('the report', () => {
  test('counts points, runs and violations, and lists the failed runs with the reason', () => {
    const violated = makeRun({ violations: [CHARGED_TWICE, CHARGED_TWICE], faults: ['reset'] })
    const missed = makeRun({ struck: 0, faults: ['stall'] })

    const report = makeReport(makeSuite({ runs: [makeRun(), violated, missed] }))

    expect(report).toMatchObject({
      commit: 'abc1234',
      points: 3,
      runs: 3,
      violations: 2,
      seconds: 61,
    })
    expect(report).toMatchObject({ passed: 1, failed: 2 })
    expect(report.failures).toEqual([violated, missed])
  })

  test('counts by fault, and a pair for both of its faults', () => {
    const pair = makeRun({ faults: ['SIGKILL', 'reset'], violations: [CHARGED_TWICE] })
    const counting = makeRun({ faults: [], points: [], recoveryMs: null })

    const { by_fault: byFault } = makeReport(makeSuite({ runs: [makeRun(), pair, counting] }))

    expect(byFault['SIGKILL']).toMatchObject({ runs: 2, failed: 1, violations: 1 })
    expect(byFault['reset']).toMatchObject({ runs: 1, failed: 1 })
    expect(byFault['none']).toMatchObject({ runs: 1, failed: 0, recovery_ms: { count: 0 } })
  })

  test('measures the recovery of runs that had a fault and recovered', () => {
    const runs = [100, 200, 900, null].map((recoveryMs) => makeRun({ recoveryMs }))

    const report = makeReport(makeSuite({ runs }))

    expect(report.recovery_ms).toMatchObject({ count: 3, median: 200, max: 900 })
    expect(report.by_scenario['payment.create']).toMatchObject({ runs: 4 })
  })

  test('counts the invariants that broke, by provider', () => {
    const twice = makeRun({ provider: 'keyless', violations: [CHARGED_TWICE, CHARGED_TWICE] })
    const kept = makeRun({ provider: 'keyless' })

    const broken = makeRun({ violations: [{ invariant: 5, what: 'no ledger' }] })

    const { by_provider: byProvider } = makeReport(makeSuite({ runs: [broken, twice, kept] }))

    expect(byProvider).toMatchObject({
      idempotent: { runs: 1, failed: 1, broken: { 5: 1 } },
      keyless: { runs: 2, failed: 1, broken: { 1: 1 } },
    })
  })

  test('counts a mutant that survives as a failure', () => {
    const caught = judgeMutant(mutant, [shown], [makeRun()])
    const survivor = judgeMutant(mutant, [makeRun(ofMutant)], [makeRun()])

    const report = makeReport(makeSuite({ mutants: [caught, survivor] }))

    expect(report).toMatchObject({ violations: 0, passed: 2, failed: 1 })
    expect(report.mutants.map(({ caught_by: by }) => by)).toEqual([1, null])
  })
})

test('the report counts runs apart in which not all faults were injected', () => {
  const missed = makeRun({ faults: ['SIGKILL', 'reset'], struck: 1 })

  const report = makeReport(makeSuite({ runs: [makeRun(), missed] }))

  expect(report).toMatchObject({ passed: 1, missed: 1, failed: 0, failures: [] })
  expect(report.by_fault['reset']).toMatchObject({ runs: 1, missed: 1, failed: 0 })
})

test('the report measures how soon payments succeeded after an outage', () => {
  const runs = [makeRun(), ...[300, 900].map((returnMs) => makeRun({ returnMs }))]

  expect(makeReport(makeSuite({ runs })).return_ms).toMatchObject({ count: 2, max: 900 })
})

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
