import { expect, test } from '@jest/globals'
import { beforeDue, createShutdown } from '../../src/engine/engine.ts'

function ending(timeoutMs: number) {
  let nowMs = 1_000
  const pass = (ms: number) => (nowMs += ms)
  return { ...createShutdown({ monotonicMs: () => nowMs }, timeoutMs), pass }
}

test('a process that was not told to stop has no deadline', () => {
  const end = ending(8_000)

  expect(end.leftMs()).toBeUndefined()
  expect(end.due.aborted).toBe(false)
})

test.each([
  ['a quarter of a short stop', 4_000, 3_000],
  ['two seconds of a long one', 60_000, 58_000],
])(
  '%s is reserved for handing over, counted from the start of the shutdown',
  (_, timeoutMs, graceMs) => {
    const end = ending(timeoutMs)
    end.begin()
    const first = end.leftMs()
    end.pass(500)
    end.begin()

    expect(first).toBe(graceMs)
    expect(end.leftMs()).toBe(graceMs - 500)
  },
)

test('returns the result of work that ends in time, with and without a shutdown', async () => {
  const work = async () => Promise.resolve('done')

  expect(await beforeDue(undefined, work())).toBe('done')
  expect(await beforeDue(ending(1_000), work())).toBe('done')
})

test('stops waiting for work that has not ended when it is due', async () => {
  const never = new Promise<string>(() => {})
  const due = new AbortController()
  const left = beforeDue({ due: due.signal }, never)
  due.abort()

  expect(await left).toBeUndefined()
  expect(await beforeDue({ due: due.signal }, never)).toBeUndefined()
})

test('throws the error of work that fails in time', async () => {
  await expect(beforeDue(ending(1_000), Promise.reject(new Error('no')))).rejects.toThrow('no')
})
