import { stripTypeScriptTypes } from 'node:module'
import { existsSync } from 'node:fs'
import { readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { readLabel } from '../case.ts'
import { faultNamed } from '../faults.ts'
import { scenarioNamed } from '../scenarios.ts'
import { mutants } from './mutants.ts'
import { applyPatch, makeTree, PatchError, readPatched } from './tree.ts'

describe('the mutants', () => {
  test('are 22 at least, each with a name of its own', () => {
    const names = mutants.map(({ name }) => name)

    expect(new Set(names).size).toBe(names.length)
    expect(names.length).toBeGreaterThanOrEqual(22)
  })

  test('put every invariant to the test', () => {
    const invariants = new Set(mutants.map(({ caughtBy }) => caughtBy))

    expect([...invariants].toSorted((one, other) => one - other)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ])
  })

  test('are each shown by a run of a scenario and faults that there are', () => {
    for (const { shownBy } of mutants) {
      expect(shownBy.length).toBeGreaterThan(0)
      for (const { scenario, strikes } of shownBy.map(readLabel)) {
        expect(scenarioNamed(scenario).name).toBe(scenario)
        for (const { fault } of strikes) expect(faultNamed(fault).name).toBe(fault)
      }
    }
  })

  test.each(mutants)('$name: applies to the product as it is, and is a program', async (mutant) => {
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

  test('is refused by a file without its text', () => {
    expect(() => applyPatch('nothing', patch)).toThrow(
      new PatchError('src/a.ts does not hold: one'),
    )
  })

  test('is refused by a file that holds its text twice', () => {
    expect(() => applyPatch('one and one', patch)).toThrow(PatchError)
  })
})

describe('a tree', () => {
  test('is the product with the patches, and goes without a trace', async () => {
    const patch = { file: 'src/db/hold.ts', text: '// The guard', replacement: '// No guard' }
    const tree = await makeTree([patch])

    expect(await readFile(join(tree.root, patch.file), 'utf8')).toMatch(/^\/\/ No guard/)
    expect(existsSync(join(tree.root, 'workers/main.ts'))).toBe(true)
    expect(existsSync(join(tree.root, 'drizzle/meta/_journal.json'))).toBe(true)
    expect(await readlink(join(tree.root, 'node_modules'))).toMatch(/node_modules$/)

    await tree.remove()
    expect(existsSync(tree.root)).toBe(false)
  })

  test('whose patch does not apply is not made', async () => {
    const patch = { file: 'src/db/hold.ts', text: 'no such text', replacement: '' }

    await expect(makeTree([patch])).rejects.toThrow(PatchError)
  })
})
