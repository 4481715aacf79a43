import { describe, expect, test } from '@jest/globals'
import { UsageError } from '../../../bench/options.ts'
import { readArguments } from '../../../bench/speed/arguments.ts'

describe('the options of the benchmark', () => {
  test.each([
    ['the peers', ['--peers'], { mode: 'speed', peers: true }],
    ['the duration', ['--seconds', '30'], { seconds: 30 }],
    ['the number of rounds', ['--rounds', '5'], { rounds: 5 }],
    ['the number of payments', ['--payments', '1000'], { payments: 1_000 }],
    ['the help', ['--help'], { help: true }],
    ['a soak', ['--soak', '20'], { mode: 'soak', minutes: 20, rate: 0 }],
    ['the growing tables', ['--scale'], { mode: 'scale', scaleMax: 1_000_000 }],
    [
      'the largest table size',
      ['--scale', '--scale-max', '10000'],
      { mode: 'scale', scaleMax: 10_000 },
    ],
    ['slow clients', ['--slow-clients'], { mode: 'slow-clients', seconds: 10, rounds: 5 }],
    ['a quick run with slow clients', ['--slow-clients', '--quick'], { seconds: 0.5, rounds: 5 }],
  ])('set %s', (_, args, expected) => {
    expect(readArguments(args)).toMatchObject(expected)
  })

  test.each([
    ['no round', ['--rounds', '0'], '--rounds must be a whole number from 1 to 100'],
    ['a fraction of a second', ['--seconds', '1.5'], '--seconds must be a whole number'],
    ['a soak of zero minutes', ['--soak', '0'], '--soak must be a whole number from 1 to 1440'],
    ['two modes at once', ['--soak', '1', '--scale'], '--soak and --scale cannot be combined'],
    ['a rate without a soak', ['--rate', '5'], '--rate has no effect without --soak, --scale'],
    [
      'a number of slow clients without the mode',
      ['--sockets', '200'],
      '--sockets has no effect without',
    ],
    ['a rate with --scale', ['--scale', '--rate', '5'], '--rate has no effect with --scale'],
    ['an unknown option', ['--fast'], '--fast'],
    ['a positional argument', ['fast'], 'fast'],
  ])('reject %s with a message', (_, args, message) => {
    expect(() => readArguments(args)).toThrow(UsageError)
    expect(() => readArguments(args)).toThrow(message)
  })
})
