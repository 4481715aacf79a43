// Tests that background work leaves the database to requests between its batches.
import { setTimeout as pass } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { inFullBatches } from '../../src/recovery/full-batches.ts'

const LIMIT = 10
/** Node drops the fraction of a delay, and its timers can fire a millisecond early. */
const EARLY_MS = 2

test('rests after each full batch for twice the time that the batch took', async () => {
  const batches: { startedAt: number; endedAt: number }[] = []
  const counts = [LIMIT, LIMIT, LIMIT - 1]

  const total = await inFullBatches(LIMIT, async () => {
    const startedAt = performance.now()
    await pass(20)
    batches.push({ startedAt, endedAt: performance.now() })
    return counts[batches.length - 1] ?? 0
  })

  expect(total).toBe(3 * LIMIT - 1)
  expect(batches).toHaveLength(3)
  for (const [index, { startedAt, endedAt }] of batches.slice(0, -1).entries()) {
    const restMs = (batches[index + 1]?.startedAt ?? 0) - endedAt
    expect(restMs).toBeGreaterThanOrEqual(2 * (endedAt - startedAt) - EARLY_MS)
  }
})
