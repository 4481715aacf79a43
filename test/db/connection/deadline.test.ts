import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { StoreTimeoutError, withinMs } from '../../../src/db/connection/store-errors.ts'

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

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
