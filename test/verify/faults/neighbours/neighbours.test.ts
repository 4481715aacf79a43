// Tests what the lanes with neighbours conclude from their measurements, and which of them a plan
// has. The lanes themselves run in the suite.
import { expect, test } from '@jest/globals'
import { labelOf, type Comparison, type Violation } from '../../../../verify/faults/results.ts'
import type { Merchant } from '../../../../verify/faults/merchant.ts'
import { compare, PROVIDER_MS } from '../../../../verify/faults/neighbours/measure.ts'
import { planNeighbours } from '../../../../verify/faults/suite-plan.ts'
import { needsOf } from '../../../../verify/faults/scenarios.ts'
import { renderSummary } from '../../../../verify/faults/report.ts'
import { makeRun } from '../sample-runs.ts'

const ALONE = { paidMs: 700, heardMs: 1_000 }

function compared(beside: typeof ALONE) {
  const measured = { comparisons: [] as Comparison[], violations: [] as Violation[] }
  compare(measured as unknown as Merchant, ALONE, beside)
  return measured
}

test('a payment may take twice as long beside a neighbour, and one phase', () => {
  const most = 2 * ALONE.paidMs + PROVIDER_MS

  expect(compared({ ...ALONE, paidMs: most }).violations).toEqual([])
  expect(compared({ ...ALONE, paidMs: most + 1 }).violations).toEqual([
    { invariant: 7, what: expect.stringContaining('payment: 700 ms alone, 1701 ms'), isLate: true },
  ])
})

test('a webhook may take twice as long beside a neighbour, and until the next poll', () => {
  expect(compared({ ...ALONE, heardMs: 4_000 }).violations).toEqual([])
  expect(compared({ ...ALONE, heardMs: 4_001 }).violations).toHaveLength(1)
})

test('every plan has each lane once, with a smaller backlog in a quick one', () => {
  const plans = [true, false].map((quick) => planNeighbours({ quick }).map(labelOf))

  expect(plans).toEqual([
    ['noisy-neighbour', 'silent-dns', 'key-guessing'],
    ['noisy-neighbour.full', 'silent-dns', 'key-guessing'],
  ])
})

test('they share a lane, in which provider and endpoints have names', () => {
  const needs = planNeighbours({ quick: true }).map(needsOf)

  expect(new Set(needs.map((one) => JSON.stringify(one))).size).toBe(1)
  expect(needs[0]).toMatchObject({ byName: true })
})

const RUN = makeRun({
  scenario: 'silent-dns',
  faults: [],
  comparisons: [{ what: 'payment', unit: 'ms', alone: 700, beside: 770, limit: 1_700 }],
})

test('the summary shows the ratio', () => {
  expect(renderSummary([RUN], [])).toContain(
    'silent-dns: payment: 700 ms alone, 770 ms beside its neighbour (1.10 times); the limit is 1700 ms\n',
  )
  expect(renderSummary([makeRun()], [])).not.toContain('neighbour')
})
