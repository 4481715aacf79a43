import { expect, test } from '@jest/globals'
import { labelOf, readLabel } from '../../../verify/faults/results.ts'
import {
  AUTHENTICATION,
  EVENT_SCENARIOS,
  EVENT_STEPS,
  ordersOf,
  planEvents,
  pointOf,
  readOrder,
  placeOf,
} from '../../../verify/faults/event-orders.ts'
import { PointCounter } from '../../../verify/faults/points.ts'

const full = planEvents({ quick: false, seed: 1 })
const ordersIn = (scenario: string) =>
  full
    .filter((run) => run.scenario === scenario)
    .map(({ injections }) => readOrder(injections[0]?.point ?? ''))

test('has every order of up to five steps, once', () => {
  const orders = ordersOf(EVENT_STEPS).map(String)

  // 5 of one, 20 of two, 60 of three, 120 of four and 120 of five.
  expect(new Set(orders).size).toBe(325)
  expect(orders).toHaveLength(325)
})

test('the full plan has every order of all five steps, and the repetitions, in each scenario', () => {
  for (const scenario of Object.values(EVENT_SCENARIOS)) {
    const orders = ordersIn(scenario).map(String)
    const all = ordersOf(EVENT_STEPS)
    const expected =
      scenario === EVENT_SCENARIOS.passed ? all : all.filter(({ length }) => length === 5)

    expect(orders).toEqual(expect.arrayContaining(expected.map(String)))
    expect(orders).toContain('')
    expect(orders).toContain('authentication,amount_capturable_updated,amount_capturable_updated')
    expect(new Set(orders).size).toBe(orders.length)
  }
})

test('the fault of a run names what is wrong with its events', () => {
  const faultOf = (scenario: string, ...order: (typeof EVENT_STEPS)[number][]) =>
    full.find((run) => run.scenario === scenario && run.injections[0]?.point === pointOf(order))
      ?.injections[0]?.fault
  const { passed, refused, early } = EVENT_SCENARIOS

  expect(faultOf(passed)).toBe('webhooks-lost')
  expect(faultOf(passed, AUTHENTICATION)).toBe('webhooks-lost')
  expect(faultOf(passed, AUTHENTICATION, 'requires_action')).toBe('webhooks-reordered')
  expect(faultOf(passed, AUTHENTICATION, 'payment_failed')).toBe('webhooks-contradicting')
  expect(faultOf(refused, AUTHENTICATION, 'payment_failed')).toBe('webhooks-reordered')
  expect(faultOf(refused, AUTHENTICATION, 'succeeded')).toBe('webhooks-contradicting')
  expect(faultOf(passed, AUTHENTICATION, 'succeeded', 'succeeded')).toBe('webhooks-duplicated')
  expect(faultOf(early, AUTHENTICATION, 'requires_action')).toBe('webhooks-early')
})

test('the quick plan has a few of the runs, by its seed', () => {
  const quick = (seed: number) => planEvents({ quick: true, seed }).map(labelOf)

  expect(quick(1).length).toBeLessThanOrEqual(6)
  expect(full.map(labelOf)).toEqual(expect.arrayContaining(quick(1)))
  expect(quick(1)).toEqual(quick(1))
  expect(quick(1)).not.toEqual(quick(2))
})

test('a run label contains the order, and the run reaches the point of that label', () => {
  for (const run of full) {
    const [injection] = readLabel(labelOf(run)).injections
    const order = readOrder(injection?.point ?? '')

    expect(new PointCounter().count(placeOf(order ?? [])).label).toBe(injection?.point)
  }
  expect(readOrder('worker/claim/Sync#1/after')).toBeUndefined()
})
