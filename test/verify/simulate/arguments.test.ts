import { describe, expect, test } from '@jest/globals'
import { UsageError } from '../../../bench/options.ts'
import { HELP, readArguments } from '../../../verify/simulate/arguments.ts'

const RUNNING = [
  ['--url', 'http://127.0.0.1:1/'],
  ['--provider-url', 'http://127.0.0.1:2'],
  ['--api-key', 'sk_1'],
].flat()

describe('the options of the simulation', () => {
  test('default to a small run without faults on a stack of its own', () => {
    expect(readArguments([])).toEqual({
      help: false,
      payments: 500,
      concurrency: 16,
      faults: false,
      seed: expect.any(Number),
      target: undefined,
    })
  })

  test('are read from the command line', () => {
    const args = '--payments 2000 --concurrency 32 --faults --seed 7'.split(' ')

    const options = readArguments([...args, ...RUNNING])

    expect(options).toMatchObject({
      payments: 2000,
      concurrency: 32,
      faults: true,
      seed: 7,
      target: { url: 'http://127.0.0.1:1', providerUrl: 'http://127.0.0.1:2', apiKey: 'sk_1' },
    })
  })

  test.each([
    ['no payments', ['--payments', '0'], '--payments must be a whole number from 1 to 1000000'],
    ['a fraction of a payment', ['--payments', '1.5'], '--payments must be a whole number'],
    ['a number in words', ['--concurrency', 'many'], '--concurrency must be a whole number'],
    [
      'a concurrency of zero',
      ['--concurrency', '0'],
      '--concurrency must be a whole number from 1',
    ],
    ['a seed below zero', ['--seed=-1'], '--seed must be a whole number from 0'],
    ['a seed without its number', ['--seed'], '--seed'],
    ['an unknown option', ['--payment', '5'], "Unknown option '--payment'"],
    ['an argument that is not an option', ['2000'], "Unexpected argument '2000'"],
    ['an address without http', [...RUNNING, '--url', 'localhost:3000'], '--url must be an http'],
    ['an address without a key', ['--url', 'http://a'], 'needs --url, --provider-url and'],
  ])('refuse %s', (_, args, message) => {
    expect(() => readArguments(args)).toThrow(UsageError)
    expect(() => readArguments(args)).toThrow(message)
  })

  test('are all in the help text', () => {
    const names = ['payments', 'concurrency', 'faults', 'seed', 'url']

    for (const name of [...names, 'api-key', 'provider-url', 'help']) {
      expect(HELP).toContain(`--${name}`)
    }
  })
})
