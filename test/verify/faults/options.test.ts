import { expect, test } from '@jest/globals'
import { UsageError } from '../../../bench/options.ts'
import { listNames, readOptions } from '../../../verify/faults/options.ts'

test('--provider selects another kind of provider', () => {
  expect(readOptions(['--provider', 'keyless']).provider).toBe('keyless')
  expect(readOptions([]).provider).toBeUndefined()
})

test('--minutes sets the time of a full suite, and is refused for a quick one', () => {
  expect(readOptions([]).minutes).toBe(75)
  expect(readOptions(['--minutes', '20']).minutes).toBe(20)
  expect(() => readOptions(['--minutes', '9'])).toThrow(UsageError)
  expect(() => readOptions(['--quick', '--minutes', '20'])).toThrow(
    '--minutes cannot be combined with --quick',
  )
})

test.each(['nothing', 'idempotent'])('--provider rejects %s and lists the others', (name) => {
  expect(() => readOptions(['--provider', name])).toThrow(UsageError)
  expect(() => readOptions(['--provider', name])).toThrow(/forgetting\s+keyless\s+lying/)
})

test('--scenario and --provider have no time limit unless --minutes sets one', () => {
  const scenario = ['--scenario', 'payment.create.moved']

  expect(readOptions([]).minutes).toBe(75)
  expect(readOptions(scenario).minutes).toBe(24 * 60)
  expect(readOptions([...scenario, '--minutes', '20']).minutes).toBe(20)
  expect(readOptions([...scenario, '--quick']).quick).toBe(true)
})

test('--scenario selects a scenario, and lists them all when it is unknown', () => {
  expect(readOptions(['--scenario', 'payment.create.moved']).scenario).toBe('payment.create.moved')
  expect(readOptions([]).scenario).toBeUndefined()
  expect(() => readOptions(['--scenario', 'nothing'])).toThrow(UsageError)
  expect(() => readOptions(['--scenario', 'nothing'])).toThrow(/^ {2}payment\.create\.moved$/m)
})

test('--list shows the names that the options take', () => {
  for (const title of ['scenarios', 'faults', 'providers', 'mutants']) {
    expect(listNames()).toMatch(new RegExp(`^${title}\n  \\S+$`, 'm'))
  }
  expect(listNames()).toContain('\n  payment.create\n')
})
