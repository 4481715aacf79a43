import { describe, expect, test } from '@jest/globals'
import { UsageError } from '../../../../bench/options.ts'
import { mutants } from '../../../../verify/model/mutants/mutants.ts'
import { spaces } from '../../../../verify/model/space/spaces.ts'
import { readOptions } from '../../../../verify/model/command/options.ts'
import { renderReport } from '../../../../verify/model/command/report.ts'

test('without options it is everything, by a seed of its own', () => {
  const { spaces: chosen, mutants: lookedFor, help } = readOptions([], 0.5)

  expect(chosen).toHaveLength(spaces.length)
  expect(lookedFor).toHaveLength(mutants.length)
  expect(help).toBe(false)
  expect(readOptions([], 0.5).seed).not.toBe(readOptions([], 0.6).seed)
})

test('a space, a mutant and a number are taken, and none of them', () => {
  const args = [
    '--space',
    'none',
    '--mutant',
    'capture-posted-twice',
    '--paths',
    '0',
    '--seed',
    '7',
  ]

  expect(readOptions(args, 0)).toMatchObject({
    spaces: [],
    mutants: ['capture-posted-twice'],
    paths: 0,
    seed: 7,
  })
})

test.each([
  ['--space', 'nowhere'],
  ['--mutant', 'nothing'],
  ['--seed', '-1'],
  ['--processes', '0'],
  ['--histories', 'many'],
])('%s %s is refused', (...args) => {
  expect(() => readOptions(args, 0)).toThrow(UsageError)
})

describe('the report', () => {
  const verdict = {
    task: 'space one',
    summary: 'much',
    details: ['how'],
    states: 3,
    transitions: 1_000,
  }

  test('sums up what was explored, and ends with how many have passed', () => {
    const report = renderReport([{ ...verdict, passed: true }], 2)

    expect(report).toContain('3 states, 1,000 transitions checked in 2 s\n')
    expect(report).not.toContain('how')
    expect(report).toMatch(/\n1 passed, 0 failed\n$/)
  })

  test('tells of what failed how', () => {
    const report = renderReport([{ ...verdict, passed: false }], 2)

    expect(report).toContain('FAILED  space one: much\n    how\n')
    expect(report).toMatch(/\n0 passed, 1 failed\n$/)
  })
})
