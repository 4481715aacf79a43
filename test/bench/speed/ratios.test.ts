import { describe, expect, test } from '@jest/globals'
import { ratiosOf } from '../../../bench/speed/ratios.ts'
import type { Row } from '../../../bench/speed/rounds.ts'
import { rowOf } from './rows.ts'

/** The rows of a round. Each ratio has a different value. */
function round(number: number, changed: Partial<Record<string, Partial<Row>>> = {}): Row[] {
  const rows = [
    rowOf({ subject: 'own_intent', perSecond: 1_000 }),
    rowOf({ subject: 'own_payment', perSecond: 400 }),
    rowOf({ subject: 'own_payment', concurrency: 1, p50: 2 }),
    rowOf({ subject: 'provider', concurrency: 1, p50: 1 }),
    rowOf({ subject: 'select', p50: 2 }),
    rowOf({ subject: 'accept', perSecond: 350 }),
    rowOf({ subject: 'accept_unwalled', perSecond: 400 }),
    rowOf({ subject: 'pay_wait', perSecond: 100, nodeCpuMs: 2, postgresCpuMs: 2 }),
    rowOf({ subject: 'pay_wait_unwalled', perSecond: 125 }),
    rowOf({ subject: 'pay_wait', concurrency: 1, p50: 6 }),
    rowOf({ subject: 'replay', p50: 5 }),
    rowOf({ subject: 'dbos', perSecond: 40, nodeCpuMs: 6, postgresCpuMs: 4 }),
  ]
  return rows.map((row) => ({ ...row, round: number, ...changed[row.subject] }))
}

function valuesOf(rows: readonly Row[]) {
  return Object.fromEntries(ratiosOf(rows).map(({ name, value }) => [name, value]))
}

describe('the ratios', () => {
  test('divide the two figures that their names say', () => {
    expect(valuesOf(round(1))).toEqual({
      accepts_vs_own_statements: 0.35,
      completed_vs_dbos: 2.5,
      completed_vs_own_statements: 0.25,
      cpu_vs_dbos: 0.4,
      replay_vs_select: 2.5,
      accepts_vs_unwalled: 0.88,
      completed_vs_unwalled: 0.8,
      pay_wait_vs_sum: 1.5,
    })
  })

  test('have a lower bound when more is better, and an upper bound when less is better', () => {
    const reached = Object.fromEntries(ratiosOf(round(1)).map((one) => [one.name, one.reached]))

    expect(reached).toEqual({
      accepts_vs_own_statements: true,
      completed_vs_dbos: true,
      completed_vs_own_statements: false,
      cpu_vs_dbos: true,
      replay_vs_select: false,
      accepts_vs_unwalled: false,
      completed_vs_unwalled: false,
      pay_wait_vs_sum: true,
    })
  })

  test('have the agreed bounds and goals', () => {
    const bounds = ratiosOf(round(1)).map(({ name, bound, wanted, aim }) => [
      name,
      bound,
      wanted,
      aim,
    ])

    expect(bounds).toEqual([
      ['accepts_vs_own_statements', 'at least', 0.3, 0.4],
      ['completed_vs_dbos', 'at least', 2, 3],
      ['completed_vs_own_statements', 'at least', 0.4, 0.55],
      ['cpu_vs_dbos', 'at most', 0.5, 0.35],
      ['replay_vs_select', 'at most', 1.5, 1.2],
      ['accepts_vs_unwalled', 'at least', 0.9, 0.97],
      ['completed_vs_unwalled', 'at least', 0.9, 0.97],
      ['pay_wait_vs_sum', 'at most', 2.5, 1.5],
    ])
  })

  test('are reached by a value equal to the bound', () => {
    const [accepts] = ratiosOf(round(1, { accept: { perSecond: 300 } }))

    expect(accepts).toMatchObject({ value: 0.3, reached: true })
  })

  test('have the median, the lowest and the highest value of the rounds', () => {
    const rows = [900, 300, 500].flatMap((perSecond, index) =>
      round(index + 1, { accept: { perSecond } }),
    )

    const [accepts] = ratiosOf(rows)
    expect(accepts).toMatchObject({ value: 0.5, lowest: 0.3, highest: 0.9 })
  })

  test('compare figures of the same round, so that a slow round changes nothing', () => {
    const slow = round(2, { accept: { perSecond: 175 }, own_intent: { perSecond: 500 } })

    const [accepts] = ratiosOf([...round(1), ...slow, ...round(3)])
    expect(accepts).toMatchObject({ value: 0.35, lowest: 0.35, highest: 0.35 })
  })

  test('have no value, and are neither reached nor missed, without peers', () => {
    const alone = round(1).filter(({ subject }) => subject !== 'dbos')

    const missing = ratiosOf(alone).filter(({ value }) => value === undefined)
    expect(missing.map(({ name, reached }) => [name, reached])).toEqual([
      ['completed_vs_dbos', undefined],
      ['cpu_vs_dbos', undefined],
    ])
  })

  test('use only the rounds that have both figures', () => {
    const half = round(2).filter(({ subject }) => subject !== 'dbos')

    expect(valuesOf([...round(1), ...half])).toMatchObject({ completed_vs_dbos: 2.5 })
  })
})
