// Tests when requests share a batch, and that one failure never fails its neighbours.
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { createBatches, type RunBatch } from '../../../src/db/connection/batches.ts'

const HOLD_BACK_MS = 25
const LIMITS = { size: 3, holdBackMs: HOLD_BACK_MS }

/** The batches that ran, and how to end each of them. */
let batches: { readonly requests: readonly string[]; readonly end: (error?: Error) => void }[]

beforeEach(() => {
  batches = []
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] })
})
afterEach(() => {
  jest.useRealTimers()
})

const run: RunBatch<string, string> = (requests) =>
  new Promise((resolve, reject) => {
    const end = (error?: Error) =>
      error === undefined ? resolve(requests.map((name) => name.toUpperCase())) : reject(error)
    batches.push({ requests, end })
  })

const ran = () => batches.map(({ requests }) => requests.join(''))
/** A turn of the event loop. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

test('the requests of one turn, and those that arrive while a batch is under way, share one', async () => {
  const request = createBatches(run, { limits: LIMITS })

  const first = [request('a'), request('b')]
  await turn()
  const later = [request('c'), request('d')]
  await turn()
  expect(ran()).toEqual(['ab'])
  batches[0]?.end()
  expect(await Promise.all(first)).toEqual(['A', 'B'])
  await turn()
  batches[1]?.end()

  expect(await Promise.all(later)).toEqual(['C', 'D'])
  expect(ran()).toEqual(['ab', 'cd'])
})

test('a batch has a limited size', async () => {
  const request = createBatches(run, { limits: LIMITS })

  const all = Promise.all(['a', 'b', 'c', 'd'].map((name) => request(name)))
  await turn()
  batches[0]?.end()
  await turn()
  batches[1]?.end()

  expect(await all).toEqual(['A', 'B', 'C', 'D'])
  expect(ran()).toEqual(['abc', 'd'])
})

test('a batch that takes long holds back only for a moment, and still gives its results', async () => {
  const request = createBatches(run, { limits: LIMITS })

  const slow = request('a')
  await turn()
  const next = request('b')
  await jest.advanceTimersByTimeAsync(HOLD_BACK_MS - 1)
  expect(ran()).toEqual(['a'])
  await jest.advanceTimersByTimeAsync(1)
  expect(ran()).toEqual(['a', 'b'])
  const last = request('c')
  // The end of the slow batch does not end the wait for the one after it.
  batches[0]?.end()
  await turn()
  expect(ran()).toEqual(['a', 'b'])
  batches[1]?.end()
  await turn()
  batches[2]?.end()

  expect(await Promise.all([slow, next, last])).toEqual(['A', 'B', 'C'])
})

test('the members of a failed batch are tried singly, and only the bad one fails', async () => {
  const refused = new Error('refused')
  const tries: string[] = []
  const request = createBatches<string, string>(
    (requests) => {
      tries.push(requests.join(''))
      if (requests.includes('b')) return Promise.reject(refused)
      return Promise.resolve(requests.map((name) => name.toUpperCase()))
    },
    { limits: LIMITS },
  )

  const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => request(name)))

  expect(results).toEqual([
    { status: 'fulfilled', value: 'A' },
    { status: 'rejected', reason: refused },
    { status: 'fulfilled', value: 'C' },
  ])
  expect(tries).toEqual(['abc', 'a', 'b', 'c'])
})

test('a lone request that fails is not tried again', async () => {
  const tries: string[] = []
  const request = createBatches<string, string>(
    (requests) => {
      tries.push(requests.join(''))
      return Promise.reject(new Error('lost'))
    },
    { limits: LIMITS },
  )

  await expect(request('a')).rejects.toThrow('lost')
  expect(tries).toEqual(['a'])
})

test('requests of different groups share no batch and do not wait for each other', async () => {
  const request = createBatches(run, { groupOf: (name) => name.slice(0, 1), limits: LIMITS })

  const all = Promise.all(['a1', 'b1', 'a2'].map((name) => request(name)))
  await turn()
  const later = request('b2')
  expect(ran()).toEqual(['a1a2', 'b1'])
  batches[1]?.end()
  await turn()
  expect(ran()).toEqual(['a1a2', 'b1', 'b2'])
  batches[0]?.end()
  batches[2]?.end()

  expect(await all).toEqual(['A1', 'B1', 'A2'])
  expect(await later).toBe('B2')
})

test('a second request about a subject runs alone, beside the batch of the others', async () => {
  const request = createBatches(run, { subjectOf: (name) => name.slice(0, 1), limits: LIMITS })

  const all = Promise.all(['a1', 'b1', 'a2'].map((name) => request(name)))
  await turn()
  expect(ran().toSorted()).toEqual(['a1b1', 'a2'])
  for (const { end } of batches) end()

  expect(await all).toEqual(['A1', 'B1', 'A2'])
})

test('requests of several callbacks of one turn of the event loop share a batch', async () => {
  const request = createBatches(run, { limits: LIMITS })

  let last: Promise<string> | undefined
  const first = request('a')
  process.nextTick(() =>
    queueMicrotask(() => {
      last = request('b')
    }),
  )
  await turn()

  expect(ran()).toEqual(['ab'])
  batches[0]?.end()
  expect([await first, await last]).toEqual(['A', 'B'])
})

describe('with siblings', () => {
  const COLLECT_MS = 8
  const among = (siblings: number, size = 10) =>
    createBatches(run, { limits: { size, holdBackMs: 1_000 }, siblings: () => siblings })

  test('a batch waits until half of them wait', async () => {
    const request = among(6)

    const first = [request('a'), request('b')]
    await turn()
    await jest.advanceTimersByTimeAsync(COLLECT_MS - 1)
    expect(ran()).toEqual([])
    const last = request('c')
    await turn()
    expect(ran()).toEqual(['abc'])
    expect(jest.getTimerCount()).toBe(1)
    batches[0]?.end()

    expect(await Promise.all([...first, last])).toEqual(['A', 'B', 'C'])
    await turn()
    expect(jest.getTimerCount()).toBe(0)
  })

  test('a batch does not wait long', async () => {
    const request = among(6)

    const lone = request('a')
    await turn()
    await jest.advanceTimersByTimeAsync(COLLECT_MS)
    expect(ran()).toEqual(['a'])
    batches[0]?.end()

    expect(await lone).toBe('A')
  })

  test('a batch that waits behind another one waits for siblings, too', async () => {
    const request = among(4)

    const first = [request('a'), request('b')]
    await turn()
    expect(ran()).toEqual(['ab'])
    const next = request('c')
    await turn()
    batches[0]?.end()
    await turn()
    expect(ran()).toEqual(['ab'])
    await jest.advanceTimersByTimeAsync(COLLECT_MS)
    expect(ran()).toEqual(['ab', 'c'])
    batches[1]?.end()

    expect(await Promise.all([...first, next])).toEqual(['A', 'B', 'C'])
  })

  test('a full batch does not wait', async () => {
    const request = among(6, 2)

    const all = [request('a'), request('b')]
    await turn()
    expect(ran()).toEqual(['ab'])
    batches[0]?.end()

    expect(await Promise.all(all)).toEqual(['A', 'B'])
  })

  test('a batch does not wait for fewer than four', async () => {
    const request = among(3)

    const lone = request('a')
    await turn()
    expect(ran()).toEqual(['a'])
    batches[0]?.end()

    expect(await lone).toBe('A')
  })
})
