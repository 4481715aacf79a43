import { expect, test } from '@jest/globals'
import { supervise, type Part } from '../../../dev/stack/supervise.ts'

/** Parts that the test ends, in start order. */
function createParts() {
  const started: { becomeReady(): void; end(how: string): void }[] = []
  const arrivals = new Map<number, () => void>()
  const start = (): Part => {
    const ready = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<string>()
    const end = (how: string) => {
      ready.reject(new Error(how))
      ended.resolve(how)
    }
    started.push({ becomeReady: ready.resolve, end })
    arrivals.get(started.length)?.()
    return {
      ready: ready.promise,
      ended: ended.promise,
      stop: () => end('stopped'),
      kill: () => end('killed'),
    }
  }
  const waitForStart = async (count: number) => {
    if (started.length < count) await new Promise<void>((r) => arrivals.set(count, r))
    return started[count - 1]
  }
  return { started, start, waitForStart }
}

const PAUSES = { shortestMs: 1, longestMs: 4, stableMs: 60_000 }

test('restarts a part that ended and logs how it ended', async () => {
  const parts = createParts()
  const lines: string[] = []
  const supervised = supervise(parts.start, (line) => lines.push(line), PAUSES)
  parts.started[0]?.becomeReady()
  await supervised.ready

  parts.started[0]?.end('ended by SIGKILL')

  await parts.waitForStart(2)
  expect(lines).toEqual(['ended by SIGKILL; restarting in 1 ms'])
  await supervised.stop()
})

test('doubles the pause up to the longest while a part ends early', async () => {
  const parts = createParts()
  const lines: string[] = []
  const supervised = supervise(parts.start, (line) => lines.push(line), PAUSES)
  supervised.ready.catch(() => {})

  for (const count of [1, 2, 3, 4]) (await parts.waitForStart(count))?.end('ended')

  await parts.waitForStart(5)
  expect(lines.map((line) => line.replace('ended; restarting in ', ''))).toEqual([
    '1 ms',
    '2 ms',
    '4 ms',
    '4 ms',
  ])
  await supervised.stop()
})

test('rejects `ready` when the part ends before it is ready', async () => {
  const parts = createParts()
  const supervised = supervise(parts.start, () => {}, PAUSES)

  parts.started[0]?.end('ended with status 1')

  await expect(supervised.ready).rejects.toThrow('ended with status 1')
  await supervised.stop()
})

test('does not restart a part after kill', async () => {
  const parts = createParts()
  const supervised = supervise(parts.start, () => {}, PAUSES)

  supervised.kill()

  await expect(supervised.ready).rejects.toThrow('killed')
  await supervised.stop()
  expect(parts.started).toHaveLength(1)
})

test('ends the pause on stop and starts nothing', async () => {
  const parts = createParts()
  const { promise: pausing, resolve } = Promise.withResolvers<void>()
  const hour = { ...PAUSES, shortestMs: 3_600_000 }
  const supervised = supervise(parts.start, () => resolve(), hour)
  supervised.ready.catch(() => {})
  parts.started[0]?.end('ended')
  await pausing

  await supervised.stop()

  expect(parts.started).toHaveLength(1)
})
