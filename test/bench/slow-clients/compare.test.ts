import { describe, expect, test } from '@jest/globals'
import { compare } from '../../../bench/slow-clients/compare.ts'
import { showSlowReport, type SlowReport } from '../../../bench/slow-clients/report.ts'
import { rowOf } from '../speed/rows.ts'

/** Rows of rounds with these p99s, without and with slow clients. */
const roundsOf = (p99s: readonly [without: number, beside: number][]) =>
  p99s.flatMap(([without, beside], index) => [
    { ...rowOf({ round: index + 1, p99: without }), slowClients: 0 },
    { ...rowOf({ round: index + 1, p99: beside }), slowClients: 1_000 },
  ])

const p99Of = (rows: ReturnType<typeof roundsOf>) =>
  compare(rows).find(({ figure }) => figure === 'p99')

describe('healthy clients beside slow ones', () => {
  test('have the median of the ratios within each round', () => {
    // The machine was busy during both halves of the second round.
    const figure = p99Of(
      roundsOf([
        [10, 12],
        [40, 60],
        [10, 11],
      ]),
    )

    expect(figure).toEqual({
      subject: 'accept',
      figure: 'p99',
      without: 10,
      beside: 12,
      ratio: 1.2,
      lowest: 1.1,
      highest: 1.5,
      wanted: 2,
      reached: true,
    })
  })

  test('may have up to twice the p99', () => {
    expect(p99Of(roundsOf([[10, 20]]))).toMatchObject({ ratio: 2, reached: true })
    expect(p99Of(roundsOf([[10, 20.1]]))).toMatchObject({ ratio: 2.01, reached: false })
  })
})

describe('the report', () => {
  const report = {
    machine: { cores: 2, cpu: 'a CPU', postgres: '18', node: 'v24', commit: 'abc', busyBefore: 0 },
    options: { sockets: 1_000 },
    figures: compare(roundsOf([[10, 30]])),
    unexpected: 0,
    closed: 7_000,
    held_mean: 990,
    held_min: 825,
  } as unknown as SlowReport

  test('marks a missed bound', () => {
    expect(showSlowReport(report)).toMatch(/: p99 +10 +30 +3 +3 +3 +<= 2 +MISSED/)
  })
})
