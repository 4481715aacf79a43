import { expect, test } from '@jest/globals'
import { UsageError } from '../../../bench/options.ts'
import { corpus } from '../../../verify/fuzz/corpus/corpus.ts'
import { encodeCase } from '../../../verify/fuzz/draft.ts'
import { readOptions } from '../../../verify/fuzz/options.ts'

test('reads the seed and the number of requests', () => {
  expect(readOptions(['--seed', '7', '--requests', '10'], 0)).toMatchObject({
    seed: 7,
    requests: 10,
  })
})

test('--case takes the line of a case or its label in the corpus', () => {
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
])('%s %s is a usage error', (...args) => {
  expect(() => readOptions(args, 0)).toThrow(UsageError)
})
