import { describe, expect, test } from '@jest/globals'
import { ratiosOf } from '../../../bench/speed/ratios.ts'
import type { Row } from '../../../bench/speed/rounds.ts'
import { rowOf } from './rows.ts'

const HOT_KEY = { ownerMs: 9, aloneMs: 4, lockWaits: 1, lockWaitsMost: 2 }

/** The rows of a round. Each ratio has a different value. */
function round(number: number, changed: Partial<Record<string, Partial<Row>>> = {}): Row[] {
  const rows = [
    rowOf({ subject: 'lean_intent', perSecond: 700 }),
    rowOf({ subject: 'lean_payment', perSecond: 250 }),
    rowOf({ subject: 'lean_payment', concurrency: 1, p50: 1 }),
    rowOf({ subject: 'provider', concurrency: 1, p50: 1 }),
    rowOf({ subject: 'select', p50: 2 }),
    rowOf({ subject: 'accept', perSecond: 350 }),
    rowOf({ subject: 'accept', concurrency: 64, perSecond: 490 }),
    rowOf({ subject: 'accept_unkeyed', perSecond: 560 }),
    rowOf({ subject: 'hot_key', concurrency: 64, hotKey: HOT_KEY }),
    rowOf({ subject: 'accept_unwalled', perSecond: 400 }),
    rowOf({ subject: 'pay_wait', perSecond: 100, nodeCpuMs: 2, postgresCpuMs: 2 }),
    rowOf({ subject: 'pay_wait_unwalled', perSecond: 125 }),
    rowOf({ subject: 'pay_wait', concurrency: 1, p50: 6 }),
    rowOf({ subject: 'replay', p50: 5 }),
    rowOf({ subject: 'dbos', perSecond: 40, nodeCpuMs: 6, postgresCpuMs: 4 }),
  ]
  return rows.map((row) => ({ ...row, round: number, ...changed[row.subject] }))
}

describe('the ratios', () => {
  test('are reached by a value equal to the bound', () => {
    const [accepts] = ratiosOf(round(1, { accept: { perSecond: 280 } }))

    expect(accepts).toMatchObject({ value: 0.4, reached: true })
  })

  test('have the median, the lowest and the highest value of the rounds', () => {
    const rows = [630, 210, 350].flatMap((perSecond, index) =>
      round(index + 1, { accept: { perSecond } }),
    )

    const [accepts] = ratiosOf(rows)
    expect(accepts).toMatchObject({ value: 0.5, lowest: 0.3, highest: 0.9 })
  })

  test('compare figures of the same round, so that a slow round changes nothing', () => {
    const slow = round(2, { accept: { perSecond: 175 }, lean_intent: { perSecond: 350 } })

    const [accepts] = ratiosOf([...round(1), ...slow, ...round(3)])
    expect(accepts).toMatchObject({ value: 0.5, lowest: 0.5, highest: 0.5 })
  })

  test('leave out a round in which the other one had no answer', () => {
    const silent = round(2, { dbos: { perSecond: 0 } })

    const ratios = ratiosOf([...round(1), ...silent])
    expect(ratios.find(({ name }) => name === 'completed_vs_dbos')).toMatchObject({
      value: 2.5,
      highest: 2.5,
    })
  })
})
