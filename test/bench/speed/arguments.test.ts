import { resolve } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { UsageError } from '../../../bench/options.ts'
import { readArguments } from '../../../bench/speed/arguments.ts'

describe('the options of the benchmark', () => {
  test.each([
    ['the peers', ['--peers'], { mode: 'speed', peers: true }],
    ['the duration', ['--seconds', '30'], { seconds: 30 }],
    ['the number of rounds', ['--rounds', '5'], { rounds: 5 }],
    ['the number of payments', ['--payments', '1000'], { payments: 1_000 }],
    ['the folder', ['--folder', 'data'], { folder: resolve('data') }],
    ['the help', ['--help'], { help: true }],
    ['the short form of help', ['-h'], { help: true }],
    ['a soak', ['--soak', '20'], { mode: 'soak', minutes: 20, rate: 0 }],
    ['the rate of a soak', ['--soak', '1', '--rate', '50'], { mode: 'soak', minutes: 1, rate: 50 }],
    ['the payments of a soak', ['--soak', '1', '--payments', '5000'], { payments: 5_000 }],
    ['the growing tables', ['--scale'], { mode: 'scale', scaleMax: 1_000_000 }],
    [
      'the largest table size',
      ['--scale', '--scale-max', '10000'],
      { mode: 'scale', scaleMax: 10_000 },
    ],
    ['copies of answers', ['--redis'], { mode: 'redis', seconds: 5, rounds: 3 }],
    ['slow clients', ['--slow-clients'], { mode: 'slow-clients', seconds: 10, rounds: 5 }],
    ['the number of slow clients', ['--slow-clients', '--sockets', '200'], { sockets: 200 }],
    ['a quick run with slow clients', ['--slow-clients', '--quick'], { seconds: 0.5, rounds: 5 }],
    ['a quick run with growing tables', ['--scale', '--quick'], { mode: 'scale', seconds: 0.5 }],
  ])('set %s', (_, args, expected) => {
    expect(readArguments(args)).toMatchObject(expected)
  })

  test.each([
    ['no round', ['--rounds', '0'], '--rounds must be a whole number from 1 to 100'],
    ['a duration of zero', ['--seconds', '0'], '--seconds must be a whole number from 1 to 600'],
    ['a fraction of a second', ['--seconds', '1.5'], '--seconds must be a whole number'],
    ['too few payments', ['--payments', '999'], '--payments must be a whole number from 1000'],
    ['a soak of zero minutes', ['--soak', '0'], '--soak must be a whole number from 1 to 1440'],
    ['a soak without its minutes', ['--soak'], 'soak'],
    ['a rate of zero', ['--soak', '1', '--rate', '0'], '--rate must be a whole number from 1'],
    [
      'too small a table size',
      ['--scale', '--scale-max', '9999'],
      '--scale-max must be a whole number',
    ],
    ['two modes at once', ['--soak', '1', '--scale'], '--soak and --scale cannot be combined'],
    ['a rate without a soak', ['--rate', '5'], '--rate has no effect without --soak, --scale'],
    [
      'a number of slow clients without the mode',
      ['--sockets', '200'],
      '--sockets has no effect without',
    ],
    [
      'too few slow clients',
      ['--slow-clients', '--sockets', '99'],
      '--sockets must be a whole number',
    ],
    [
      'slow clients with a soak',
      ['--soak', '1', '--slow-clients'],
      '--soak and --slow-clients cannot',
    ],
    ['a table size without --scale', ['--scale-max', '10000'], '--scale-max has no effect without'],
    ['a rate with --scale', ['--scale', '--rate', '5'], '--rate has no effect with --scale'],
    ['peers with a soak', ['--soak', '1', '--peers'], '--peers has no effect with --soak'],
    ['rounds with a soak', ['--soak', '1', '--rounds', '3'], '--rounds has no effect with --soak'],
    ['peers with --scale', ['--scale', '--peers'], '--peers has no effect with --scale'],
    ['payments with --scale', ['--scale', '--payments', '1000'], '--payments has no effect with'],
    ['an unknown option', ['--fast'], '--fast'],
    ['a positional argument', ['fast'], 'fast'],
  ])('reject %s with a message', (_, args, message) => {
    expect(() => readArguments(args)).toThrow(UsageError)
    expect(() => readArguments(args)).toThrow(message)
  })
})
