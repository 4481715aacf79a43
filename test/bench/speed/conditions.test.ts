import { describe, expect, test } from '@jest/globals'
import { showReport } from '../../../bench/report.ts'
import { compareConditions, tableOfConditions } from '../../../bench/speed/conditions.ts'
import { rowOf } from './rows.ts'

/** Rounds with these p99s, without and with slow clients. */
const comparedOf = (p99s: readonly [without: number, beside: number][]) =>
  compareConditions(
    p99s.flatMap(([without, beside], index) => [
      { ...rowOf({ round: index + 1, p99: without }), condition: 'without' },
      { ...rowOf({ round: index + 1, p99: beside }), condition: 'beside slow clients' },
    ]),
    'without',
  ).filter(({ figure }) => figure === 'p99')

describe('a condition beside the first one', () => {
  test('has the median of the ratios within each round', () => {
    // The machine was busy during both halves of the second round.
    const [figure] = comparedOf([
      [10, 12],
      [40, 60],
      [10, 11],
    ])

    expect(figure).toEqual({
      subject: 'accept',
      concurrency: 16,
      condition: 'beside slow clients',
      figure: 'p99',
      first: 10,
      own: 12,
      ratio: 1.2,
      lowest: 1.1,
      highest: 1.5,
    })
  })

  test('may have up to so many times the p99', () => {
    const markOf = (beside: number) =>
      tableOfConditions(comparedOf([[10, beside]]), 'without', 2).rows[0]?.mark

    expect(markOf(20)).toBe('reached')
    expect(markOf(20.1)).toBe('missed')
  })

  test('is marked in the report when it has missed the bound', () => {
    const tables = [tableOfConditions(comparedOf([[10, 30]]), 'without', 2)]

    const report = showReport('a machine', { title: '', conditions: '', tables, plots: [] })

    expect(report).toMatch(/ p99 +10 +30 +3 +3 +3 +<= 2 MISSED/)
  })
})
