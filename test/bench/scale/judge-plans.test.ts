import { describe, expect, test } from '@jest/globals'
import type { Plan } from '../../../bench/plans.ts'
import { judgePlans } from '../../../bench/scale/judge-plans.ts'

function planOf(text: string, changed: Partial<Plan> = {}): Plan {
  return {
    of: 'API',
    statement: 'findPayment',
    planned: 'at first',
    text,
    indexes: ['payments_pk'],
    scanned: [],
    wrongly: [],
    ...changed,
  }
}

const indexScan = (rows: number) =>
  `Index Scan using payments_pk on payments  (cost=0.4..8.4 rows=${rows} width=9)\n  Buffers: shared hit=${rows}`
const bitmapScan = 'Bitmap Heap Scan on payments  (cost=4..80 rows=7 width=9)'

describe('the verdict on plans by size', () => {
  test('reports no change when only costs and row counts differ', () => {
    const sized = [
      { size: 10_000, plans: [planOf(indexScan(1))] },
      { size: 100_000, plans: [planOf(indexScan(7))] },
    ]

    expect(judgePlans(sized)).toEqual([
      {
        of: 'API',
        statement: 'findPayment',
        indexes: ['payments_pk'],
        scanned: [],
        changesAt: [],
      },
    ])
  })

  test('names the sizes at which the plan differs from the one at the smallest size', () => {
    const sized = [
      { size: 10_000, plans: [planOf(indexScan(1))] },
      { size: 100_000, plans: [planOf(bitmapScan)] },
      { size: 1_000_000, plans: [planOf(indexScan(1))] },
    ]

    expect(judgePlans(sized)).toMatchObject([{ changesAt: [100_000] }])
  })

  test('also compares the plans after many runs', () => {
    const later = { planned: 'after many runs' } as const
    const sized = [
      { size: 10_000, plans: [planOf(indexScan(1)), planOf(indexScan(1), later)] },
      { size: 100_000, plans: [planOf(indexScan(1)), planOf(bitmapScan, later)] },
    ]

    expect(judgePlans(sized)).toMatchObject([{ changesAt: [100_000] }])
  })

  test('names large tables with a sequential scan at any size', () => {
    const whole = planOf(bitmapScan, { wrongly: ['payments'] })
    const sized = [
      { size: 10_000, plans: [whole] },
      { size: 100_000, plans: [whole] },
    ]

    expect(judgePlans(sized)).toMatchObject([{ scanned: ['payments'], changesAt: [] }])
  })
})
