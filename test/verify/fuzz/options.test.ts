import { expect, test } from '@jest/globals'
import { UsageError } from '../../../bench/options.ts'
import { corpus } from '../../../verify/fuzz/corpus/corpus.ts'
import { encodeCase } from '../../../verify/fuzz/draft.ts'
import { readOptions } from '../../../verify/fuzz/options.ts'

test('without options it is a hundred thousand, by a seed of its own', () => {
  expect(readOptions([], 0.5)).toMatchObject({ help: false, requests: 100_000, only: undefined })
  expect(readOptions([], 0.5).seed).not.toBe(readOptions([], 0.6).seed)
})

test('a seed and a number are taken', () => {
  expect(readOptions(['--seed', '7', '--requests', '10'], 0)).toMatchObject({
    seed: 7,
    requests: 10,
  })
})

test('a case is named by its line, or by its name in the corpus', () => {
  const [one] = corpus
  if (one === undefined) throw new Error('the corpus is empty')

  expect(readOptions(['--case', encodeCase(one)], 0).only).toEqual(one)
  expect(readOptions(['--case', one.label], 0).only).toBe(one)
})

test.each([
  ['--seed', '-1'],
  ['--requests', 'many'],
  ['--case', 'nonsense'],
  ['--lanes', '2'],
])('%s %s is refused', (...args) => {
  expect(() => readOptions(args, 0)).toThrow(UsageError)
})
