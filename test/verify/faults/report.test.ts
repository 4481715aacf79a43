import { readFile } from 'node:fs/promises'
import { describe, expect, test } from '@jest/globals'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'
import { makeReport, renderSummary, writeReport } from '../../../verify/faults/report.ts'
import { CHARGED_TWICE, FACTS, makeRun } from './sample-runs.ts'

const missed = makeRun({ faults: ['SIGKILL', 'reset'], struck: 1 })
const survivor = {
  name: 'no-rule',
  breaks: 'There is no rule.',
  must_break: 1,
  caught_by: null,
  case: null,
  what: 'nothing broke',
  runs: 1,
}

describe('the report', () => {
  test('counts points, runs, violations and mutants, and keeps every run', () => {
    const violated = makeRun({ violations: [CHARGED_TWICE, CHARGED_TWICE], faults: ['reset'] })
    const skipped = makeRun({ skipped: 'no disk' })
    const results = [makeRun(), violated, missed, skipped]
    const verdicts = [survivor, { ...survivor, caught_by: 1 }]

    const report = makeReport(FACTS, { results, verdicts })

    expect(report).toMatchObject({ commit: 'abc1234', points: 3, runs: 3, violations: 2 })
    expect(report).toMatchObject({ passed: 2, missed: 1, failed: 2, mutants: verdicts, results })
  })

  test('counts by fault, and a pair for both of its faults', () => {
    const pair = makeRun({ faults: ['SIGKILL', 'reset'], violations: [CHARGED_TWICE] })
    const counting = makeRun({ faults: [], points: [], recoveryMs: null })
    const results = [makeRun(), pair, counting]

    const { by_fault: byFault } = makeReport(FACTS, { results, verdicts: [] })

    expect(byFault['SIGKILL']).toMatchObject({ runs: 2, failed: 1 })
    expect(byFault['reset']).toMatchObject({ runs: 1, failed: 1 })
    expect(byFault['none']).toMatchObject({ runs: 1, failed: 0, recovery_ms: { count: 0 } })
  })

  test('measures the recovery of runs that had a fault, and how soon payments succeeded', () => {
    const results = [100, 200, 900, null].map((recoveryMs) =>
      makeRun({ recoveryMs, returnMs: recoveryMs }),
    )

    const report = makeReport(FACTS, { results, verdicts: [] })

    expect(report.recovery_ms).toMatchObject({ count: 3, median: 200, max: 900 })
    expect(report.return_ms).toMatchObject({ count: 3, max: 900 })
  })

  test('counts the invariants that broke, by provider', () => {
    const twice = makeRun({ provider: 'keyless', violations: [CHARGED_TWICE, CHARGED_TWICE] })
    const kept = makeRun({ provider: 'keyless' })
    const broken = makeRun({ violations: [{ invariant: 5, what: 'no ledger' }] })
    const results = [broken, twice, kept]

    expect(makeReport(FACTS, { results, verdicts: [] }).by_provider).toMatchObject({
      idempotent: { runs: 1, failed: 1, broken: { 5: 1 } },
      keyless: { runs: 2, failed: 1, broken: { 1: 1 } },
    })
  })

  test('is written as JSON', async () => {
    const folder = await makeTemporaryFolder()

    const path = await writeReport(FACTS, { results: [makeRun()], verdicts: [] }, folder)

    const { by_fault: byFault, counted } = JSON.parse(await readFile(path, 'utf8'))
    expect(byFault).toMatchObject({ SIGKILL: { runs: 1, recovery_ms: { median: 1_200 } } })
    expect(counted).toEqual(FACTS.counted)
  })
})

describe('the summary', () => {
  test('counts a run that missed its second fault apart: it neither passed nor failed', () => {
    const failed = makeRun({ violations: [CHARGED_TWICE] })

    const summary = renderSummary([makeRun(), missed, missed, failed], [])

    expect(summary).toMatch(/\n2 missed: [^\n]+\n1 passed, 1 failed\n$/)
    expect(summary).not.toContain(missed.case)
  })

  test('lists the failed runs with the invariants that broke, and the skipped ones', () => {
    const failed = makeRun({ violations: [CHARGED_TWICE] })

    const summary = renderSummary([failed, makeRun({ skipped: 'no disk' })], [survivor])

    expect(summary).toContain(`\n  ${failed.case}  (invariant 1)\n`)
    expect(summary).toContain(`\n1 skipped:\n  ${failed.case}  (no disk)\n`)
    expect(summary).toMatch(/\nmutant no-rule: SURVIVED, [^\n]+\n\n0 passed, 2 failed\n$/)
  })

  test('says for each provider in how many runs an invariant broke', () => {
    const summary = renderSummary(
      [
        makeRun({ provider: 'lying' }),
        makeRun({ provider: 'keyless' }),
        makeRun({ provider: 'keyless', violations: [CHARGED_TWICE] }),
      ],
      [],
    )

    expect(summary).toContain('lying provider: an invariant broke in 0 of 1 runs\n')
    expect(summary).toContain('keyless provider: an invariant broke in 1 of 2 runs\n')
  })

  test('shows the longest time until payments succeeded after an outage', () => {
    const back = [400, 1_200].map((returnMs) => makeRun({ returnMs }))

    expect(renderSummary(back, [])).toContain(
      'PostgreSQL came back in 2 runs: new payments succeeded within 1200 ms',
    )
    expect(renderSummary([makeRun()], [])).not.toContain('came back')
  })
})
