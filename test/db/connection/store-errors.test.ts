import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import {
  isStoreUnavailable,
  storeErrorKind,
  StoreTimeoutError,
  withinMs,
} from '../../../src/db/connection/store-errors.ts'

function errorWith(code: unknown, cause?: Error): Error {
  return Object.assign(new Error('failed', { cause }), { code })
}

describe('an error with a code', () => {
  test.each([
    ['ECONNREFUSED', 'nothing listens', 'unreachable'],
    ['ENOTFOUND', 'the host has no address', 'unreachable'],
    ['TLS_FAILED', 'its certificate is refused', 'unreachable'],
    ['NO_PRIMARY', 'no host is the primary', 'unreachable'],
    ['CONNECTION_CLOSED', 'the driver lost its connection', 'unreachable'],
    ['CONNECTION_ENDED', 'the driver is stopping', 'unreachable'],
    ['08006', 'connection failure', 'unreachable'],
    ['25006', 'a standby', 'failed'],
    ['40001', 'serialization failure', 'conflict'],
    ['53100', 'disk full', 'exhausted'],
    ['55P03', 'lock not available', 'conflict'],
    ['57014', 'statement timeout', 'timeout'],
    ['57P01', 'shutdown', 'unreachable'],
    ['25P03', 'in a transaction that was idle for too long', 'timeout'],
    ['58030', 'I/O error', 'failed'],
  ])('%s, %s: is transient, of the kind %s', (code, _, kind) => {
    expect(isStoreUnavailable(errorWith(code))).toBe(true)
    expect(storeErrorKind(errorWith(code))).toBe(kind)
  })

  test.each([
    ['23505', 'unique violation'],
    ['42P01', 'undefined table'],
    ['25P02', 'in a failed transaction'],
    ['ERR_INVALID_ARG_TYPE', 'a bug in the call'],
  ])('%s, %s: is a bug', (code) => {
    expect(isStoreUnavailable(errorWith(code))).toBe(false)
  })
})

test.each([
  ['a text', 'ECONNREFUSED'],
  ['nothing', undefined],
  ['null', null],
  ['an error without a code', new Error('ECONNREFUSED')],
  ['an error whose code is not a string', errorWith(408)],
])('does not treat %s as an error of the store', (_, error) => {
  expect(isStoreUnavailable(error)).toBe(false)
})

test.each([
  ['as the cause of another', new Error('Failed query', { cause: errorWith('57P01') })],
  ['two causes down', new Error('a', { cause: new Error('b', { cause: errorWith('08006') }) })],
  [
    'in an AggregateError, as for a host with several addresses',
    Object.assign(new AggregateError([errorWith('ECONNREFUSED')]), { code: 'ECONNREFUSED' }),
  ],
  ['as our own time limit', new StoreTimeoutError('late')],
])('recognizes a transient error %s', (_, error) => {
  expect(isStoreUnavailable(error)).toBe(true)
})

describe('withinMs', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  test('rejects at the time limit', async () => {
    const silent = new Promise(() => {})
    const outcome = withinMs(1_000, silent).catch((error: unknown) => error)

    await jest.advanceTimersByTimeAsync(1_000)

    expect(await outcome).toBeInstanceOf(StoreTimeoutError)
    expect(await outcome).toMatchObject({ message: 'the store did not answer in 1000 ms' })
  })

  test('ignores a statement that fails after the time limit', async () => {
    const { promise, reject } = Promise.withResolvers<string>()
    const outcome = withinMs(1_000, promise).catch((error: unknown) => error)
    await jest.advanceTimersByTimeAsync(1_000)

    reject(new Error('too late'))

    expect(await outcome).toBeInstanceOf(StoreTimeoutError)
  })

  test.each([
    ['succeeds', () => Promise.resolve('row')],
    ['fails', () => Promise.reject(new Error('no'))],
  ])('leaves no timer when the statement %s', async (_, statement) => {
    await withinMs<string>(1_000, statement()).catch(() => {})

    expect(jest.getTimerCount()).toBe(0)
  })
})
