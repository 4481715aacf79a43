import { describe, expect, test } from '@jest/globals'
import { judgeLatency } from '../../../bench/scale/judge-latency.ts'
import { rowOf } from '../speed/rows.ts'

/** Rounds of one subject, by size. */
const rowsOf = (p50: Record<number, readonly number[]>) =>
  Object.entries(p50).flatMap(([size, times]) =>
    times.map((time, index) => ({
      ...rowOf({ round: index + 1, p50: time, p99: 9 }),
      size: Number(size),
    })),
  )

const p50Of = (p50: Record<number, readonly number[]>) => judgeLatency(rowsOf(p50))[0]

describe('the verdict on latency by size', () => {
  test('has the median at each size and the ratio of the largest size to the smallest', () => {
    expect(p50Of({ 10_000: [4, 2, 3], 100_000: [5, 1, 3], 1_000_000: [3.3, 3.3, 3.3] })).toEqual({
      subject: 'accept',
      concurrency: 16,
      figure: 'p50',
      at: [
        { size: 10_000, ms: 3 },
        { size: 100_000, ms: 3 },
        { size: 1_000_000, ms: 3.3 },
      ],
      ratio: 1.1,
      verdict: 'flat',
    })
  })

  test('GROWS when every round at the largest size is slower and the median exceeds the factor', () => {
    expect(p50Of({ 10_000: [2, 3, 3.2], 100_000: [3.3, 4, 5] })).toMatchObject({ verdict: 'GROWS' })
  })

  test('is flat when a round at the smallest size was as slow as one at the largest', () => {
    expect(p50Of({ 10_000: [2, 3, 3.4], 100_000: [3.3, 4, 5] })).toMatchObject({ verdict: 'flat' })
  })
})
