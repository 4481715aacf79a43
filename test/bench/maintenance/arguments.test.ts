import { tmpdir } from 'node:os'
import { describe, expect, test } from '@jest/globals'
import { HELP, readArguments } from '../../../bench/maintenance/arguments.ts'
import { UsageError } from '../../../bench/options.ts'

describe('the options of the maintenance benchmark', () => {
  test('are a million keys, three rounds and the folder for temporary files, when nothing is said', () => {
    const options = readArguments([])

    expect(options).toEqual({
      help: false,
      keys: 1_000_000,
      seconds: 10,
      rounds: 3,
      rate: 80,
      folder: tmpdir(),
    })
  })

  test('are smaller with --quick, but for what is said beside it', () => {
    const options = readArguments(['--quick', '--seconds', '5'])

    expect(options).toMatchObject({ keys: 100_000, seconds: 5 })
  })

  test('take ten million keys', () => {
    expect(readArguments(['--keys', '10000000'])).toMatchObject({ keys: 10_000_000 })
  })

  test.each([
    ['keys below the bound', ['--keys', '9999']],
    ['keys that are no number', ['--keys', '1e6']],
    ['too few rounds to compare', ['--rounds', '2']],
    ['an unknown option', ['--fast']],
    ['a word beside the options', ['fast']],
    ['an option without its value', ['--keys']],
  ])('refuse %s', (_, args) => {
    expect(() => readArguments(args)).toThrow(UsageError)
  })

  test('are each explained by the help', () => {
    const explained = [...HELP.matchAll(/^(?:-h, )?--([a-z]+)/gm)].map(([, name]) => name)

    expect(explained).toEqual(['keys', 'quick', 'seconds', 'rounds', 'rate', 'folder', 'help'])
  })
})
