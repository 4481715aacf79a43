import { describe, expect, test } from '@jest/globals'
import { UsageError } from '../../../../bench/options.ts'
import { mutants } from '../../../../verify/model/mutants/mutants.ts'
import { slices, spaces } from '../../../../verify/model/space/spaces.ts'
import { readOptions } from '../../../../verify/model/command/options.ts'
import { renderReport } from '../../../../verify/model/command/tasks.ts'

test('selects every space and mutant and a random seed by default', () => {
  const { spaces: selectedSpaces, mutants: selectedMutants, help } = readOptions([], 0.5)

  expect(selectedSpaces).toHaveLength(spaces.length)
  expect(selectedMutants).toHaveLength(mutants.length)
  expect(help).toBe(false)
  expect(readOptions([], 0.5).seed).not.toBe(readOptions([], 0.6).seed)
})

test('selects slices and a few mutants with --quick, and nothing that needs PostgreSQL', () => {
  const quick = readOptions(['--quick'], 0.5)

  expect(quick).toMatchObject({
    spaces: slices.map(({ name }) => name),
    histories: 0,
  })
  const known = mutants.map(({ name }) => name)
  expect(quick.mutants.filter((name) => known.includes(name))).toHaveLength(4)
  expect(readOptions(['--quick', '--histories', '5'], 0.5)).toMatchObject({ histories: 5 })
})

test('accepts a space, a mutant, numbers and "none"', () => {
  const args = [
    '--space',
    'none',
    '--mutant',
    'capture-posted-twice',
    '--histories',
    '0',
    '--seed',
    '7',
  ]

  expect(readOptions(args, 0)).toMatchObject({
    spaces: [],
    mutants: ['capture-posted-twice'],
    histories: 0,
    seed: 7,
  })
})

test.each([
  ['--space', 'nowhere'],
  ['--mutant', 'nothing'],
  ['--seed', '-1'],
  ['--processes', '0'],
  ['--histories', 'many'],
])('rejects %s %s as a usage error', (...args) => {
  expect(() => readOptions(args, 0)).toThrow(UsageError)
})

describe('renderReport', () => {
  const verdict = {
    task: 'space one',
    summary: 'summary',
    details: ['detail'],
    states: 3,
    transitions: 1_000,
  }

  test('sums states and transitions, and ends with the number of passed tasks', () => {
    const report = renderReport([{ ...verdict, passed: true }], 2)

    expect(report).toContain('3 states, 1,000 transitions checked in 2 s\n')
    expect(report).not.toContain('detail')
    expect(report).toMatch(/\n1 passed, 0 failed\n$/)
  })

  test('prints the details of a failed task', () => {
    const report = renderReport([{ ...verdict, passed: false }], 2)

    expect(report).toContain('FAILED  space one: summary\n    detail\n')
    expect(report).toMatch(/\n0 passed, 1 failed\n$/)
  })
})
