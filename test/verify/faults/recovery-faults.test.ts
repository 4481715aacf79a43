import { expect, test } from '@jest/globals'
import {
  labelOf,
  type Case,
  hasFailed,
  isMissed,
  type RunResult,
} from '../../../verify/faults/results.ts'
import { claimsOf } from './sample-points.ts'
import type { Recovery } from '../../../verify/faults/plan.ts'
import { makeRun } from './sample-runs.ts'
import { injectDuringRecovery, planSuite } from '../../../verify/faults/suite-plan.ts'

const points = claimsOf(30)
const recoveries: Recovery[] = points.slice(0, 4).map(({ label }) => ({
  run: { scenario: 'payment.create', injections: [{ fault: 'SIGKILL', point: label }] },
  points,
  durableState: 'nothing',
}))
const plan = planSuite([], { quick: false, seed: 1, minutes: 75 })
const few = { pairs: { ...plan.pairs, count: 20 }, triples: { ...plan.triples, count: 0 } }

/** A suite whose runs have their second fault injected, or not. */
function madeUp(finds: (run: Case) => boolean) {
  const made: string[] = []
  const run = async (cases: readonly Case[]): Promise<RunResult[]> =>
    cases.map((one) => {
      made.push(labelOf(one))
      const faults = one.injections.map(({ fault }) => fault)
      return makeRun({ case: labelOf(one), faults, struck: finds(one) ? faults.length : 1 })
    })
  return { suite: { run, recoveries }, made }
}

test('replaces each pair that missed', async () => {
  const isFound = new Map<string, boolean>()
  const { suite, made } = madeUp((run) => {
    const finds = isFound.size % 3 !== 0
    isFound.set(labelOf(run), finds)
    return finds
  })

  const results = await injectDuringRecovery(suite, { ...plan, ...few, everyState: false })

  expect(new Set(made).size).toBe(made.length)
  expect(results.filter((run) => isMissed(run)).length).toBeGreaterThan(5)
  expect(results.filter((run) => !isMissed(run)).length).toBeGreaterThanOrEqual(19)
})

test('tries the runs of a pair of states until one had both faults', async () => {
  const { suite, made } = madeUp((run) => run.injections[0]?.point === points[2]?.label)
  const none = { ...few, pairs: { ...few.pairs, count: 0 } }

  const results = await injectDuringRecovery(suite, { ...plan, ...none, everyState: true })

  expect(made).toHaveLength(3)
  expect(results.map((run) => isMissed(run))).toEqual([true, true, false])
})

test('fails when most pairs missed', async () => {
  const { suite } = madeUp(() => false)

  const results = await injectDuringRecovery(suite, { ...plan, ...few, everyState: false })

  expect(results.filter((run) => hasFailed(run))).toMatchObject([
    { scenario: 'Pairs', violations: [{ invariant: 0 }] },
  ])
})
