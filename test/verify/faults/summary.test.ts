import { expect, test } from '@jest/globals'
import { CHARGED_TWICE, makeRun } from './report/sample-runs.ts'
import { renderSummary } from '../../../verify/faults/summary.ts'

const missed = makeRun({ faults: ['SIGKILL', 'reset'], struck: 1 })

test('a run that missed its second fault has neither passed nor failed, and is counted apart', () => {
  const failed = makeRun({ violations: [CHARGED_TWICE] })

  const summary = renderSummary([makeRun(), missed, missed, failed], [])

  expect(summary).toMatch(/\n2 missed: [^\n]+\n1 passed, 1 failed\n$/)
  expect(summary).not.toContain(missed.case)
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
