import { describe, expect, test } from '@jest/globals'
import { UsageError } from '../../../../bench/options.ts'
import { readOptions } from '../../../../verify/faults/options.ts'
import { CHARGED_TWICE, makeRun } from '../sample-runs.ts'
import { renderSummary } from '../../../../verify/faults/report.ts'
import { mutants } from '../../../../verify/faults/mutants/mutants.ts'
import { judgeMutant } from '../../../../verify/faults/mutants/run-mutants.ts'

describe('--mutant', () => {
  test('selects one mutant by its name', () => {
    const chosen = readOptions(['--mutant', 'check-then-insert']).mutants

    expect(chosen?.map(({ name }) => name)).toEqual(['check-then-insert'])
  })

  test('selects every mutant with "all"', () => {
    expect(readOptions(['--mutant', 'all']).mutants).toHaveLength(mutants.length)
  })

  test('rejects an unknown name and lists the known ones', () => {
    expect(() => readOptions(['--mutant', 'nothing'])).toThrow(UsageError)
    expect(() => readOptions(['--mutant', 'nothing'])).toThrow(/check-then-insert/)
  })
})

test('the summary lists each mutant, and counts a survivor as failed', () => {
  const [mutant] = mutants
  if (mutant === undefined) throw new Error('there are no mutants')
  const violation = { ...CHARGED_TWICE, invariant: mutant.caughtBy }
  const caught = judgeMutant(mutant, [makeRun({ violations: [violation] })], [makeRun()])
  const survivor = judgeMutant(mutant, [makeRun()], [makeRun()])

  const summary = renderSummary([makeRun()], [caught, survivor])

  expect(summary).toContain(`mutant ${mutant.name}: caught by invariant ${mutant.caughtBy}\n`)
  expect(summary).toContain(`mutant ${mutant.name}: SURVIVED`)
  expect(summary).toMatch(/\n2 passed, 1 failed\n$/)
})
