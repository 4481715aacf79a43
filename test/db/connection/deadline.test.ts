import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { StoreTimeoutError, withinMs } from '../../../src/db/connection/deadline.ts'

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

test('a statement in time gives its value', async () => {
  await expect(withinMs(1_000, Promise.resolve('row'))).resolves.toBe('row')
})

test('a statement that fails in time gives its own error', async () => {
  const error = new Error('no such table')

  await expect(withinMs(1_000, Promise.reject(error))).rejects.toBe(error)
})

test('a statement that is silent at the time limit is given up', async () => {
  const silent = new Promise(() => {})
  const outcome = withinMs(1_000, silent).catch((error: unknown) => error)

  await jest.advanceTimersByTimeAsync(1_000)

  expect(await outcome).toBeInstanceOf(StoreTimeoutError)
  expect(await outcome).toMatchObject({ message: 'the store did not answer in 1000 ms' })
})

test('a statement is not given up before the time limit', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const outcome = withinMs(1_000, promise)

  await jest.advanceTimersByTimeAsync(999)
  resolve('row')

  await expect(outcome).resolves.toBe('row')
})

test('a statement that fails after it was given up disturbs nobody', async () => {
  const { promise, reject } = Promise.withResolvers<string>()
  const outcome = withinMs(1_000, promise).catch((error: unknown) => error)
  await jest.advanceTimersByTimeAsync(1_000)

  reject(new Error('too late'))

  expect(await outcome).toBeInstanceOf(StoreTimeoutError)
})

test.each([
  ['succeeds', () => Promise.resolve('row')],
  ['fails', () => Promise.reject(new Error('no'))],
])('no timer is left when the statement %s', async (_, statement) => {
  await withinMs<string>(1_000, statement()).catch(() => {})

  expect(jest.getTimerCount()).toBe(0)
})
