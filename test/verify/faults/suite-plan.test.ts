import { expect, test } from '@jest/globals'
import { labelOf } from '../../../verify/faults/case.ts'
import { claimsOf } from './sample-points.ts'
import { isKill, planRuns } from '../../../verify/faults/plan.ts'
import { fitShares, planSuite, secondsOf } from '../../../verify/faults/suite-plan.ts'

const counted = (scenario: string, times: number) => ({ scenario, points: claimsOf(times) })

const FULL = { quick: false, seed: 1 }
const scenarios = ['payment.create', 'payment.create.manual', 'payment.follow']
const large = scenarios.map((scenario) => counted(scenario, 240))
const few = scenarios.map((scenario) => counted(scenario, 3))

test('a plan within the budget has all runs, and a third of its pairs kill', () => {
  const { runs, pairs } = planSuite(few, FULL)

  expect(runs.map(labelOf)).toEqual(planRuns(few, FULL).map(labelOf))
  expect(pairs).toMatchObject({ count: 5_000, killShare: 1 / 3 })
})

test('reduces the variants of an operation first, then the kills of pairs', () => {
  const costs = { fixed: 100, variants: 100, nestedKills: 300 }

  expect(fitShares(costs, 1_000)).toEqual({ variants: 1, nestedKills: 1 / 3 })
  expect(fitShares(costs, 250).variants).toBeCloseTo(0.5)
  expect(fitShares(costs, 250).nestedKills).toBe(1 / 3)
  expect(fitShares(costs, 170).variants).toBe(0.05)
  expect(fitShares(costs, 170).nestedKills).toBeCloseTo(65 / 300)
  expect(fitShares(costs, 100)).toEqual({ variants: 0.05, nestedKills: 0.05 })
})

test('a reduced plan keeps its budget, and has all runs of the operations themselves', () => {
  const { runs, pairs, triples } = planSuite(large, FULL)
  const labels = new Set(runs.map(labelOf))
  const swept = planRuns(large, FULL).filter(({ scenario }) => scenario !== 'payment.create.manual')

  expect(labels.size).toBeLessThan(planRuns(large, FULL).length)
  expect(swept.filter((run) => !labels.has(labelOf(run)))).toEqual([])
  const deeper = pairs.count + triples.count
  const seconds = secondsOf(runs) + deeper * (0.35 + 0.25 * pairs.killShare)
  expect(seconds).toBeLessThan(52 * 60 * 2)
})

test('the seed decides which runs are kept, with each fault at least once', () => {
  const [one, same, other] = [1, 1, 2].map((seed) =>
    planSuite(large, { quick: false, seed }).runs.map(labelOf),
  )
  const faultsOf = (labels: readonly string[] = []) =>
    new Set(labels.map((label) => label.replace(/@.*/, '')))

  expect(same).toEqual(one)
  expect(other?.toSorted()).not.toEqual(one?.toSorted())
  expect(faultsOf(one)).toEqual(faultsOf(planRuns(large, FULL).map(labelOf)))
})

test('lists how many runs there are of each kind', () => {
  const { runs, summary } = planSuite(large, FULL)

  expect(summary[0]).toBe(`Planned: ${runs.length} runs with one fault`)
  expect(summary.join('\n')).toMatch(/payment\.create\.manual: \d+ of \d+, sampled by the seed/)
  expect(runs.some(({ injections }) => isKill(injections))).toBe(true)
})
