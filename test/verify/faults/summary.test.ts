import { expect, test } from '@jest/globals'
import { CHARGED_TWICE, makeRun } from './report/made-up-runs.ts'
import { renderSummary } from '../../../verify/faults/summary.ts'

const missed = makeRun({ faults: ['SIGKILL', 'reset'], struck: 1 })

test('a run whose second strike missed is neither passed nor failed, and is told of', () => {
  const failed = makeRun({ violations: [CHARGED_TWICE] })

  const summary = renderSummary([makeRun(), missed, missed, failed], [])

  expect(summary).toMatch(/\n2 missed: [^\n]+\n1 passed, 1 failed\n$/)
  expect(summary).not.toContain(missed.case)
})

test('nothing is said of misses when there are none', () => {
  expect(renderSummary([makeRun()], [])).toMatch(/\n\n1 passed, 0 failed\n$/)
})

test('of each provider it is told what nobody can promise with it', () => {
  const summary = renderSummary(
    [
      makeRun({ provider: 'lying' }),
      makeRun({ provider: 'not-idempotent' }),
      makeRun({ provider: 'not-idempotent', unprovable: [CHARGED_TWICE] }),
    ],
    [],
  )

  expect(summary).toContain('lying provider: every invariant is to hold; 1 runs\n')
  expect(summary).toContain(
    'not-idempotent provider: nobody can promise invariants 1 and 5, which broke in 1 of 2 runs\n',
  )
})

test('the longest time until payments succeeded after an outage is told', () => {
  const back = [400, 1_200].map((returnMs) => makeRun({ returnMs }))

  expect(renderSummary(back, [])).toContain(
    'PostgreSQL came back in 2 runs: new payments succeeded within 1200 ms',
  )
  expect(renderSummary([makeRun()], [])).not.toContain('came back')
})
