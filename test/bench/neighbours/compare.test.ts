import { describe, expect, test } from '@jest/globals'
import { compare, type NeighbourRow } from '../../../bench/neighbours/compare.ts'
import { showNeighbourReport, type NeighbourReport } from '../../../bench/neighbours/report.ts'

const CALL_MS = { backlog: 20, hanging: 1, guesses: 1 }

const spread = (ms: number) => ({ count: 10, median: ms, p95: 2 * ms, p99: 2 * ms, max: 2 * ms })

const rowOf = (fields: Partial<NeighbourRow> & { ms: number }): NeighbourRow => {
  const { ms, ...others } = fields
  const times = { payment: spread(ms), webhook: spread(10 * ms), unexpected: 0, missing: 0 }
  return { noise: 'backlog', level: 0, round: 1, ...times, ...others }
}

/** Rounds with these medians of B's payments, alone and beside a backlog of 100. */
const roundsOf = (medians: readonly (readonly [alone: number, beside: number])[]) =>
  medians.flatMap(([alone, beside], index) => [
    rowOf({ round: index + 1, ms: alone }),
    rowOf({ round: index + 1, ms: beside, level: 100 }),
  ])

const besideOf = (rows: readonly NeighbourRow[]) =>
  compare(rows, CALL_MS).find(({ level }) => level === 100)

describe('a neighbour beside a noise', () => {
  test('has the median of the ratios within each round', () => {
    // The machine was busy during the whole second round.
    const compared = besideOf(
      roundsOf([
        [40, 48],
        [160, 240],
        [40, 44],
      ]),
    )

    expect(compared?.payment.median).toEqual({
      ms: 48,
      ratio: 1.2,
      lowest: 1.1,
      highest: 1.5,
      allowedMs: 100,
      reached: true,
    })
  })

  test('may take twice its time alone and one call of the provider', () => {
    expect(besideOf(roundsOf([[40, 100]]))?.payment.median.reached).toBe(true)
    expect(besideOf(roundsOf([[40, 100.1]]))?.payment.median.reached).toBe(false)
    // 80 alone and 190 beside it: twice as long, and a call, are 180.
    expect(besideOf(roundsOf([[40, 95]]))?.payment.p95.reached).toBe(false)
  })

  test('is compared with itself alone beside the same noise', () => {
    const rows = [
      ...roundsOf([[40, 60]]),
      rowOf({ noise: 'guesses', ms: 10 }),
      rowOf({ noise: 'guesses', level: 1_000, ms: 30 }),
    ]

    const ratios = compare(rows, CALL_MS).map(({ webhook }) => webhook.median.ratio)

    expect(ratios).toEqual([1, 1.5, 1, 3])
  })

  test('adds up wrong answers and missing webhooks of the rounds', () => {
    const rows = [
      rowOf({ ms: 10 }),
      rowOf({ ms: 10, level: 100, unexpected: 2, missing: 1 }),
      rowOf({ ms: 10, round: 2 }),
      rowOf({ ms: 10, round: 2, level: 100, unexpected: 1, missing: 1 }),
    ]

    expect(besideOf(rows)).toMatchObject({ unexpected: 3, missing: 2 })
  })
})

describe('the report', () => {
  const reportOf = (rows: readonly NeighbourRow[]) =>
    ({
      machine: {
        cores: 2,
        cpu: 'a CPU',
        postgres: '18',
        node: 'v24',
        commit: 'abc',
        busyBefore: 0,
      },
      call_ms: CALL_MS,
      guesses: { 401: 60, 429: 940 },
      levels: compare(rows, CALL_MS),
    }) as unknown as NeighbourReport

  test('marks a missed bound, and nothing when B is alone', () => {
    const shown = showNeighbourReport(reportOf(roundsOf([[50, 600]])))

    expect(shown).toMatch(/100 waiting operations .* MISSED\n/)
    expect(shown).not.toMatch(/B alone .* MISSED/)
  })
})
