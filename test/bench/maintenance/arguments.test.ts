import { tmpdir } from 'node:os'
import { describe, expect, test } from '@jest/globals'
import { HELP, readArguments } from '../../../bench/maintenance/arguments.ts'
import { UsageError } from '../../../bench/options.ts'

describe('the options of the maintenance benchmark', () => {
  test('default to a million keys, three rounds and the folder for temporary files', () => {
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

  test('are smaller with --quick, except for explicit ones', () => {
    const options = readArguments(['--quick', '--seconds', '5'])

    expect(options).toMatchObject({ keys: 100_000, seconds: 5 })
  })

  test('allow ten million keys', () => {
    expect(readArguments(['--keys', '10000000'])).toMatchObject({ keys: 10_000_000 })
  })

  test.each([
    ['keys below the bound', ['--keys', '9999']],
    ['keys that are not a whole number', ['--keys', '1e6']],
    ['too few rounds to compare', ['--rounds', '2']],
    ['an unknown option', ['--fast']],
    ['a positional argument', ['fast']],
    ['an option without its value', ['--keys']],
  ])('reject %s', (_, args) => {
    expect(() => readArguments(args)).toThrow(UsageError)
  })

  test('are all explained by the help', () => {
    const explained = [...HELP.matchAll(/^(?:-h, )?--([a-z]+)/gm)].map(([, name]) => name)

    expect(explained).toEqual(['keys', 'quick', 'seconds', 'rounds', 'rate', 'folder', 'help'])
  })
})
