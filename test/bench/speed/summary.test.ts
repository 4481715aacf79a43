import { describe, expect, test } from '@jest/globals'
import { countNon2xx, countUnexpected, summarize } from '../../../bench/speed/summary.ts'
import { renderJson } from '../../../bench/speed/report.ts'
import { ratiosOf } from '../../../bench/speed/ratios.ts'
import { readArguments } from '../../../bench/speed/arguments.ts'
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

  test('has the medians of a hot key, and the most sessions that ever waited', () => {
    const hotKey = (ownerMs: number, lockWaitsMost: number) =>
      rowOf({ subject: 'hot_key', hotKey: { ownerMs, aloneMs: 2, lockWaits: 1, lockWaitsMost } })

    expect(summarize([hotKey(9, 1), hotKey(5, 3), hotKey(7, 2)])).toMatchObject([
      { hotKey: { ownerMs: 7, aloneMs: 2, lockWaits: 1, lockWaitsMost: 3 } },
    ])
  })

  test('counts answers other than 2xx only for subjects that create payments', () => {
    const rows = [
      rowOf({ subject: 'accept', non2xx: 1 }),
      rowOf({ subject: 'pay_wait', non2xx: 2 }),
      rowOf({ subject: 'mixed', non2xx: 4 }),
      rowOf({ subject: 'replay', non2xx: 8 }),
      rowOf({ subject: 'dbos', non2xx: 16 }),
    ]

    expect(countNon2xx(rows)).toBe(7)
  })
})

describe('the report as JSON', () => {
  const machine = {
    cpu: 'a processor',
    cores: 2,
    memoryBytes: 1,
    node: 'v24',
    postgres: '18',
    commit: 'abc',
    busyBefore: 0,
  }

  test('has every ratio by name, null without a comparison, and the rows', () => {
    const rows = [
      rowOf({ subject: 'accept', perSecond: 40 }),
      rowOf({ subject: 'lean_intent', perSecond: 100 }),
    ]

    const json = renderJson({
      at: '2026-01-01T00:00:00.000Z',
      options: readArguments([]),
      machine,
      ratios: ratiosOf(rows),
      unexpected: 0,
      non_2xx: 0,
      rows,
    })

    expect(json).toMatchObject({ non_2xx: 0, rows })
    expect(json.ratios).toEqual({
      accepts_vs_lean_intent: 0.4,
      completed_vs_lean_payment: null,
      completed_vs_dbos: null,
      cpu_vs_dbos: null,
      replay_vs_select: null,
      accepts_vs_unwalled: null,
      pay_wait_vs_lean_sum: null,
      accepts_at_64_vs_16: null,
      accepts_vs_unkeyed: null,
      hot_key_owner_vs_alone: null,
      completed_vs_unwalled: null,
    })
  })
})
