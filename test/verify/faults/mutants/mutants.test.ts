import { stripTypeScriptTypes } from 'node:module'
import { describe, expect, test } from '@jest/globals'
import { readLabel } from '../../../../verify/faults/results.ts'
import { faultNamed } from '../../../../verify/faults/faults.ts'
import { scenarioNamed } from '../../../../verify/faults/scenarios.ts'
import {
  applyPatch,
  PatchError,
  readPatched,
  mutants,
} from '../../../../verify/faults/mutants/mutants.ts'

describe('the mutants', () => {
  test('are at least 40, with distinct names', () => {
    const names = mutants.map(({ name }) => name)

    expect(new Set(names).size).toBe(names.length)
    expect(names.length).toBeGreaterThanOrEqual(40)
  })

  test('cover every invariant', () => {
    const invariants = new Set(mutants.map(({ caughtBy }) => caughtBy))

    expect([...invariants].toSorted((one, other) => one - other)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ])
  })

  test('name runs of existing scenarios and faults', () => {
    for (const { shownBy } of mutants) {
      expect(shownBy.length).toBeGreaterThan(0)
      for (const { scenario, injections } of shownBy.map(readLabel)) {
        expect(scenarioNamed(scenario).name).toBe(scenario)
        for (const { fault } of injections) expect(faultNamed(fault).name).toBe(fault)
      }
    }
  })

  test.each(mutants)('$name: applies to the product and is valid TypeScript', async (mutant) => {
    const sources = await readPatched(mutant.patches)

    expect(sources.size).toBeGreaterThan(0)
    for (const [, source] of sources) {
      expect(() => stripTypeScriptTypes(source, { mode: 'strip' })).not.toThrow()
    }
  })
})

describe('a patch', () => {
  const patch = { file: 'src/a.ts', text: 'one', replacement: 'two' }

  test('replaces its text', () => {
    expect(applyPatch('just one $& more', patch)).toBe('just two $& more')
  })

  test('is rejected when the file does not contain its text', () => {
    expect(() => applyPatch('nothing', patch)).toThrow(
      new PatchError('src/a.ts does not contain: one'),
    )
  })

  test('is rejected when the file contains its text twice', () => {
    expect(() => applyPatch('one and one', patch)).toThrow(PatchError)
  })
})
