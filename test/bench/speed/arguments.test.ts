import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { UsageError } from '../../../bench/options.ts'
import { HELP, readArguments } from '../../../bench/speed/arguments.ts'

describe('the options of the benchmark', () => {
  test('are three rounds of five seconds with 20,000 payments there, when nothing is said', () => {
    const options = readArguments([])

    expect(options).toEqual({
      help: false,
      mode: 'speed',
      peers: false,
      seconds: 5,
      rounds: 3,
      concurrencies: [1, 16, 64],
      payments: 20_000,
      minutes: 0,
      rate: 0,
      scaleMax: 1_000_000,
      sockets: 1_000,
      folder: tmpdir(),
    })
  })

  test('are short and with fewer clients with --quick, but for what is said beside it', () => {
    const options = readArguments(['--quick'])

    expect(options).toMatchObject({ seconds: 0.5, concurrencies: [1, 16], rounds: 3 })
    expect(readArguments(['--quick', '--seconds', '2'])).toMatchObject({ seconds: 2 })
  })

  test.each([
    ['the peers', ['--peers'], { mode: 'speed', peers: true }],
    ['how long', ['--seconds', '30'], { seconds: 30 }],
    ['how often', ['--rounds', '5'], { rounds: 5 }],
    ['how much is there', ['--payments', '1000'], { payments: 1_000 }],
    ['the folder', ['--folder', 'data'], { folder: resolve('data') }],
    ['the help', ['--help'], { help: true }],
    ['the help in short', ['-h'], { help: true }],
    ['a soak', ['--soak', '20'], { mode: 'soak', minutes: 20, rate: 0 }],
    ['its rate', ['--soak', '1', '--rate', '50'], { mode: 'soak', minutes: 1, rate: 50 }],
    ['what a soak begins with', ['--soak', '1', '--payments', '5000'], { payments: 5_000 }],
    ['a scale', ['--scale'], { mode: 'scale', scaleMax: 1_000_000 }],
    ['where it ends', ['--scale', '--scale-max', '10000'], { mode: 'scale', scaleMax: 10_000 }],
    ['slow clients', ['--slow-clients'], { mode: 'slow-clients', seconds: 10, rounds: 5 }],
    ['how many', ['--slow-clients', '--sockets', '200'], { sockets: 200 }],
    ['a quick look at them', ['--slow-clients', '--quick'], { seconds: 0.5, rounds: 5 }],
    ['a quick scale', ['--scale', '--quick'], { mode: 'scale', seconds: 0.5 }],
  ])('say %s', (_, args, expected) => {
    expect(readArguments(args)).toMatchObject(expected)
  })

  test.each([
    [
      'too few rounds to compare',
      ['--rounds', '2'],
      '--rounds must be a whole number from 3 to 100',
    ],
    ['no time', ['--seconds', '0'], '--seconds must be a whole number from 1 to 600'],
    ['part of a second', ['--seconds', '1.5'], '--seconds must be a whole number'],
    ['too few payments', ['--payments', '999'], '--payments must be a whole number from 1000'],
    ['a soak of no time', ['--soak', '0'], '--soak must be a whole number from 1 to 1440'],
    ['a soak without its minutes', ['--soak'], 'soak'],
    ['a rate of nothing', ['--soak', '1', '--rate', '0'], '--rate must be a whole number from 1'],
    ['too small a scale', ['--scale', '--scale-max', '9999'], '--scale-max must be a whole number'],
    ['two runs at once', ['--soak', '1', '--scale'], '--soak and --scale cannot be combined'],
    ['a rate without a soak', ['--rate', '5'], '--rate has no effect without --soak, --scale'],
    ['slow clients of none', ['--sockets', '200'], '--sockets has no effect without'],
    ['too few of them', ['--slow-clients', '--sockets', '99'], '--sockets must be a whole number'],
    [
      'slow clients of a soak',
      ['--soak', '1', '--slow-clients'],
      '--soak and --slow-clients cannot',
    ],
    ['a size without a scale', ['--scale-max', '10000'], '--scale-max has no effect without'],
    ['a rate of a scale', ['--scale', '--rate', '5'], '--rate has no effect with --scale'],
    ['peers of a soak', ['--soak', '1', '--peers'], '--peers has no effect with --soak'],
    ['rounds of a soak', ['--soak', '1', '--rounds', '3'], '--rounds has no effect with --soak'],
    ['peers of a scale', ['--scale', '--peers'], '--peers has no effect with --scale'],
    ['payments of a scale', ['--scale', '--payments', '1000'], '--payments has no effect with'],
    ['an unknown option', ['--fast'], '--fast'],
    ['a word beside the options', ['fast'], 'fast'],
  ])('refuse %s, and say what is wrong', (_, args, message) => {
    expect(() => readArguments(args)).toThrow(UsageError)
    expect(() => readArguments(args)).toThrow(message)
  })

  test('are each explained by the help', () => {
    const explained = [...HELP.matchAll(/^(?:-h, )?--([a-z-]+)/gm)].map(([, name]) => name)

    expect(explained).toEqual([
      'quick',
      'peers',
      'seconds',
      'rounds',
      'payments',
      'folder',
      'help',
      'soak',
      'rate',
      'scale',
      'scale-max',
      'slow-clients',
      'sockets',
    ])
  })
})
