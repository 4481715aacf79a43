import { expect, test } from '@jest/globals'
import { UsageError } from '../../../bench/options.ts'
import { readOptions } from '../../../verify/faults/options.ts'

test('--provider selects another kind of provider', () => {
  expect(readOptions(['--provider', 'keyless']).provider).toBe('keyless')
  expect(readOptions([]).provider).toBeUndefined()
})

test.each(['nothing', 'idempotent'])('--provider rejects %s and lists the others', (name) => {
  expect(() => readOptions(['--provider', name])).toThrow(UsageError)
  expect(() => readOptions(['--provider', name])).toThrow(/forgetting, keyless, lying/)
})
