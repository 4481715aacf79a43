import { expect, test } from '@jest/globals'
import { labelOf } from '../../../verify/faults/results.ts'
import { claimsOf } from './sample-points.ts'
import { hasBasicFault, isKill, isOfMainScenario, planRuns } from '../../../verify/faults/plan.ts'
import { mutants } from '../../../verify/faults/mutants/mutants.ts'
import {
  budgetOf,
  fitMinutes,
  fitShares,
  planMutants,
  planSuite,
  secondsOf,
} from '../../../verify/faults/suite-plan.ts'

const counted = (scenario: string, times: number) => ({ scenario, points: claimsOf(times) })

const FULL = { quick: false, seed: 1, minutes: 75 }
const scenarios = ['payment.create', 'payment.create.manual', 'payment.follow']
const large = scenarios.map((scenario) => counted(scenario, 240))
const few = scenarios.map((scenario) => counted(scenario, 3))

test('a plan within the budget has all runs, and a third of its pairs kill', () => {
  const { runs, pairs } = planSuite(few, FULL)

  expect(runs.map(labelOf)).toEqual(planRuns(few, FULL).map(labelOf))
  expect(pairs).toMatchObject({ count: 5_000, killShare: 1 / 3 })
})

test('the runs of one scenario obey --quick and --minutes', () => {
  const one = [counted('payment.create', 240)]
  const all = planRuns(one, FULL)
  const quick = planRuns(one, { ...FULL, quick: true })
  const fitting = fitMinutes(all, one, { ...FULL, minutes: 10 })

  expect(fitMinutes(all, one, { ...FULL, minutes: 24 * 60 })).toEqual(all)
  expect(quick.length).toBeLessThan(all.length)
  expect(fitMinutes(quick, one, { ...FULL, quick: true, minutes: 10 })).toEqual(quick)
  expect(fitting.length).toBeLessThan(all.length)
  expect(fitting.length).toBeGreaterThan(0)
  expect(secondsOf(fitting, one)).toBeLessThan(budgetOf(10) * 1.2)
})

test('reduces variants first, and last the faults of payment.create', () => {
  const parts = { variants: 100, nestedKills: 300, nested: 100, others: 100 }
  const costs = { fixed: 100, ...parts, beside: 100, basic: 50, main: 50 }
  const usual = {
    variants: 1,
    nestedKills: 1 / 3,
    nested: 1,
    others: 1,
    beside: 1,
    basic: 1,
    main: 1,
  }
  const least = { variants: 0.02, nestedKills: 0.05, nested: 0.02, others: 0.02 }

  expect(fitShares(costs, 1_000)).toEqual(usual)
  expect(fitShares(costs, 650)).toEqual({ ...usual, variants: expect.closeTo(0.5) })
  expect(fitShares(costs, 567)).toMatchObject({ nestedKills: expect.closeTo(65 / 300), nested: 1 })
  expect(fitShares(costs, 467)).toMatchObject({ nested: expect.closeTo(0.5), others: 1 })
  expect(fitShares(costs, 369)).toMatchObject({ others: expect.closeTo(0.5), beside: 1 })
  expect(fitShares(costs, 271)).toMatchObject({ beside: expect.closeTo(0.5), basic: 1 })
  expect(fitShares(costs, 198)).toMatchObject({ beside: 0.02, basic: expect.closeTo(0.5) })
  expect(fitShares(costs, 149)).toMatchObject({ basic: 0.02, main: expect.closeTo(0.5) })
  expect(fitShares(costs, 100)).toEqual({ ...least, beside: 0.02, basic: 0.02, main: 0.02 })
})

test.each([20, 40, 75])(
  'a plan of %d minutes fits, with every kill and reset of payment.create',
  (minutes) => {
    const plan = planSuite(large, { ...FULL, minutes })
    const { runs, pairs, triples, events, contests, comparisons, providers } = plan

    const single = [...runs, ...events, ...contests, ...comparisons, ...providers]
    const deeper = pairs.count + triples.count
    const seconds = secondsOf(single, large) + deeper * 1.5 * (0.35 + 0.25 * pairs.killShare)
    expect(seconds).toBeLessThan(budgetOf(minutes) * 1.02)
    const ofMain = planRuns(large, FULL).filter(
      (run) => isOfMainScenario(run) && hasBasicFault(run),
    )
    const labels = new Set(runs.map(labelOf))
    expect(ofMain.filter((run) => !labels.has(labelOf(run)))).toEqual([])
  },
)

test('a reduced plan keeps its budget, and all kills and resets of the operations', () => {
  const { runs, pairs, triples } = planSuite(large, FULL)
  const labels = new Set(runs.map(labelOf))
  const kept = planRuns(large, FULL).filter(
    (run) =>
      run.scenario === 'payment.create' ||
      (run.scenario === 'payment.follow' &&
        ['SIGKILL', 'reset'].includes(run.injections[0]?.fault ?? '')),
  )

  expect(labels.size).toBeLessThan(planRuns(large, FULL).length)
  expect(kept.filter((run) => !labels.has(labelOf(run)))).toEqual([])
  const deeper = pairs.count + triples.count
  const seconds = secondsOf(runs, large) + deeper * (0.35 + 0.25 * pairs.killShare)
  expect(seconds).toBeLessThan(52 * 60 * 2)
})

test('the seed decides which runs are kept, with each fault at least once', () => {
  const [one, same, other] = [1, 1, 2].map((seed) =>
    planSuite(large, { ...FULL, seed }).runs.map(labelOf),
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

test('a quick suite has a sample of the mutants by its seed, and a full one has all', () => {
  const quick = (seed: number) => planMutants(mutants, { quick: true, seed })

  expect(planMutants(mutants, FULL)).toEqual(mutants)
  expect(quick(1)).toHaveLength(3)
  expect(new Set(quick(1)).size).toBe(3)
  expect(quick(1)).toEqual(quick(1))
  expect(quick(2)).not.toEqual(quick(1))
})
