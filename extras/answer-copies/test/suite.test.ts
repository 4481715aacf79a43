// Tests what the fault suite plans with copies of answers in Redis.
import { expect, test } from '@jest/globals'
import { mutants } from '../../../verify/faults/mutants/mutants.ts'
import { findPossible } from '../../../verify/faults/options.ts'
import { planRuns, planScenarios } from '../../../verify/faults/plan.ts'
import { PointCounter, type Place } from '../../../verify/faults/points.ts'
import { scenarios } from '../../../verify/faults/scenarios.ts'
import { choicesOf } from '../../../verify/faults/soak.ts'
import { faults } from '../verify/suite.ts'

const COMMAND: Place = {
  role: 'api',
  name: 'redis-get',
  message: 'command',
  moment: 'before',
  peer: 'extra',
  direction: 'out',
}
const COMMIT: Place = {
  role: 'api',
  name: 'commit-reserve',
  message: 'Query',
  moment: 'after',
  peer: 'store',
  direction: 'out',
}
const CLAIM: Place = { ...COMMIT, role: 'worker', name: 'claim', message: 'Execute' }

const counter = new PointCounter()
const points = [COMMAND, COMMIT, CLAIM].map((place) => counter.count(place))
const ofRedis = faults.map(({ name }) => name)

function runsOf(scenario: string): string[] {
  const runs = planRuns([{ scenario, points }], { quick: false, seed: 1 })
  return runs.map(({ injections: [first] }) => `${first?.fault}@${first?.point}`)
}

test('without redis-server its scenarios and mutants are left out, and said', () => {
  const possible = findPossible((program) => program !== 'redis-server', true)

  expect(possible.scenarios).not.toContain('payment.create.copied')
  expect(possible.scenarios).toContain('payment.create.pooled')
  expect(possible.mutants.length).toBe(mutants.length - 3)
  expect(possible.leftOut).toEqual(
    [
      'payment.create.copied',
      'payment.create.withdrawn',
      'mutant redis-decides-who-executes',
      'mutant copy-outlives-its-response',
      'mutant copy-found-before-authentication',
    ].map((what) => `left out: ${what}, because redis-server is not installed`),
  )
})

test('Redis fails around its commands, and with a process or a connection at each commit', () => {
  const made = runsOf('payment.create.copied')

  expect(ofRedis).toContain('redis-flushed')
  for (const name of [...ofRedis, 'SIGKILL', 'reset', 'stall', 'SIGTERM']) {
    expect(made).toContain(`${name}@api/redis-get/command#1/before`)
  }
  expect(
    made.filter((run) => run.endsWith('@api/commit-reserve/Query#1/after')).toSorted(),
  ).toEqual(
    [...ofRedis, 'SIGKILL', 'reset']
      .map((name) => `${name}@api/commit-reserve/Query#1/after`)
      .toSorted(),
  )
  expect(made.filter((run) => run.includes('/claim/'))).toEqual([])
})

test('nothing happens to Redis in a scenario without one, nor in a soak', () => {
  const injections = choicesOf([{ scenario: 'payment.create.copied', points }], {
    options: {},
  } as Parameters<typeof choicesOf>[1]).flat()

  const made = runsOf('payment.create').map((run) => run.split('@')[0] ?? '')
  expect(ofRedis.filter((name) => made.includes(name))).toEqual([])
  expect(injections.filter(({ fault }) => ofRedis.includes(fault))).toEqual([])
  expect(injections.map(({ point }) => point)).not.toContain('api/redis-get/command#1/before')
})

test.each([1, 2, 3])('the quick plan of seed %d has Redis', (seed) => {
  const names = scenarios.map(({ name }) => name)

  expect(planScenarios(names, { quick: true, seed })).toContain('payment.create.copied')
})
