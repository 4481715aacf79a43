import { describe, expect, test } from '@jest/globals'
import { countUnexpected, summarize } from '../../../bench/speed/summary.ts'
import { rowOf } from './rows.ts'

describe('the summary of the rounds', () => {
  test('has a row for each subject and number of clients, with the median of each figure', () => {
    const rows = [
      rowOf({ round: 1, perSecond: 300, p50: 5, nodeCpuMs: 3 }),
      rowOf({ round: 2, perSecond: 100, p50: 9, nodeCpuMs: 1 }),
      rowOf({ round: 3, perSecond: 200, p50: 7, nodeCpuMs: 2 }),
      rowOf({ round: 1, concurrency: 1, perSecond: 50 }),
      rowOf({ round: 1, subject: 'get', perSecond: 900 }),
    ]

    const lines = summarize(rows)
    expect(lines.map((line) => [line.subject, line.concurrency, line.perSecond])).toEqual([
      ['accept', 16, 200],
      ['accept', 1, 50],
      ['get', 16, 900],
    ])
    expect(lines[0]).toMatchObject({ latencyMs: { median: 7 }, nodeCpuMs: 2 })
  })

  test('adds up unexpected answers instead of taking their median', () => {
    const rows = [
      rowOf({ round: 1, unexpected: 2, non2xx: 1 }),
      rowOf({ round: 2 }),
      rowOf({ round: 3 }),
    ]

    expect(summarize(rows)).toMatchObject([{ unexpected: 2, non2xx: 1 }])
    expect(countUnexpected(rows)).toBe(2)
  })
})
