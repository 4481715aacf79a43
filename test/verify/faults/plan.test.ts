import { expect, test } from '@jest/globals'
import { labelOf } from '../../../verify/faults/results.ts'
import type { Fault } from '../../../verify/faults/scenario.ts'
import { faultNamed, faults } from '../../../verify/faults/faults.ts'
import {
  planNested,
  planProviders,
  planRuns,
  planScenarios,
  planStatePairs,
} from '../../../verify/faults/plan.ts'
import { scenarios } from '../../../verify/faults/scenarios.ts'
import { PointCounter, type Place, type Point } from '../../../verify/faults/points.ts'

const places: Place[] = [
  {
    role: 'api',
    name: 'reserve',
    message: 'Execute',
    moment: 'before',
    peer: 'store',
    direction: 'out',
  },
  {
    role: 'api',
    name: 'commit-reserve',
    message: 'Query',
    moment: 'after',
    peer: 'store',
    direction: 'out',
  },
  {
    role: 'worker',
    name: 'claim',
    message: 'DataRow',
    moment: 'before',
    peer: 'store',
    direction: 'in',
  },
  {
    role: 'worker',
    name: 'provider-capture',
    message: 'request',
    moment: 'before',
    peer: 'provider',
    direction: 'out',
  },
]

function counted(scenario: string, times: number) {
  const counter = new PointCounter()
  const points = Array.from({ length: times }, () => places.map((at) => counter.count(at))).flat()
  return { scenario, points }
}

const all = [counted('payment.create', 3), counted('refund.create', 20)]
const labels = (quick: boolean, seed = 1) => planRuns(all, { quick, seed }).map(labelOf)

/** Whether it needs no scenario of its own. */
function isForAny({ needsStandby, needsExtraServer }: Fault): boolean {
  return needsStandby !== true && needsExtraServer !== true
}

/** The faults that a full plan has for a scenario. */
function faultsOf(scenario: string): Set<string> {
  const runs = planRuns([counted(scenario, 1)], { quick: false, seed: 1 })
  return new Set(runs.map(({ injections: [first] }) => first?.fault ?? ''))
}

test('behind a pooler, no fault needs the process of the server, or a server of its own', () => {
  const pooled = faultsOf('payment.create.pooled')
  const left = [...faultsOf('payment.create')].filter((name) => !pooled.has(name))

  expect(left).toContain('terminate-backend')
  expect(left).toContain('postgres-immediate')
  const needless = left.filter((name) => faultNamed(name).affectsServer !== true)
  expect(needless).toEqual(['terminate-backend'])
})

test('on a server with a standby every fault is a failover, and elsewhere none is', () => {
  const failovers = faults.flatMap(({ name, needsStandby }) => (needsStandby === true ? name : []))

  expect(failovers).toContain('failover-frozen')
  expect(faultsOf('payment.create.replicated')).toEqual(new Set(failovers))
  const others = faultsOf('payment.create')
  expect(failovers.filter((name) => others.has(name))).toEqual([])
})

test('the disk is full where a statement writes: a repeated request finds its row', () => {
  const { points } = counted('payment.create.canceled', 2)
  const [first, second] = points.filter(
    ({ name, message }) => name === 'reserve' && message === 'Execute',
  )

  expect(faultNamed('disk-full').appliesAt(first as Point)).toBe(true)
  expect(faultNamed('disk-full').appliesAt(second as Point)).toBe(false)
})

test('a deadlock is caused at the statements of a worker: those of an API lock no operation first', () => {
  const counter = new PointCounter()
  const at = (role: Place['role']) =>
    counter.count({ ...(places[0] as Place), role, name: 'advance' })

  expect(faultNamed('deadlock').appliesAt(at('worker'))).toBe(true)
  expect(faultNamed('deadlock').appliesAt(at('api'))).toBe(false)
})

test('where several operations are in progress, the statements that they share are struck', () => {
  const place = {
    role: 'worker',
    message: 'DataRow',
    moment: 'before',
    peer: 'store',
    direction: 'in',
  } as const
  const counter = new PointCounter()
  const points = ['fetch-operations', 'claim'].map((name) => counter.count({ ...place, name }))
  const runsOf = (scenario: string) =>
    planRuns([{ scenario, points }], { quick: false, seed: 1 }).map(
      ({ injections: [first] }) => `${first?.fault}@${first?.point}`,
    )

  const alone = runsOf('payment.create').join()
  expect(alone).toContain('job-twice@worker/fetch-operations/')
  expect(alone).toContain('SIGKILL@worker/fetch-operations/')

  const together = runsOf('payment.create.together')
  expect(together.join()).toContain('SIGKILL@worker/claim/')
  expect(together.join()).not.toContain('job-twice')
  expect(together.filter((run) => !run.includes('@worker/claim/'))).toEqual([])
})

test('with a webhook endpoint, the deliveries and their jobs are struck', () => {
  const counter = new PointCounter()
  const [place] = places as [Place, ...Place[]]
  const points = ['add-jobs', 'add-jobs', 'insert-webhook_deliveries', 'reserve'].map((name) =>
    counter.count({ ...place, name }),
  )
  const runs = planRuns([{ scenario: 'payment.create.announced', points }], {
    quick: false,
    seed: 1,
  })

  expect(new Set(runs.map(({ injections: [first] }) => first?.point))).toEqual(
    new Set(['api/add-jobs/Execute#2/before', 'api/insert-webhook_deliveries/Execute#1/before']),
  )
})

test('an API is suspended while its transaction has the key, once in a run', () => {
  const counter = new PointCounter()
  const answer = { ...(places[0] as Place), message: 'ReadyForQuery', direction: 'in' } as const
  const names = ['reserve', 'insert-payments', 'insert-events', 'commit-reserve', 'reserve']
  const points = names.map((name) => counter.count({ ...answer, name }))

  const struck = points.filter((point) => faultNamed('suspended-with-key').appliesAt(point))
  expect(struck.map(({ label }) => label)).toEqual(['api/reserve/ReadyForQuery#1/before'])
})

test('the full plan has every fault at every point to which it applies, once', () => {
  const expected = all.flatMap(({ scenario, points }) =>
    points.flatMap((point) =>
      faults
        .filter((fault) => fault.appliesAt(point) && isForAny(fault))
        .map(({ name }) => `${scenario}:${name}@${point.label}`),
    ),
  )

  expect(labels(false).toSorted()).toEqual(expected.toSorted())
})

test('the quick plan has 20 points of payment.create at most, and a sample of the rest by its seed', () => {
  const points = all[0]?.points ?? []
  const quick = labels(true)
  const struck = quick.flatMap(
    (label) => /^payment\.create:(?:SIGKILL|reset)@(.*)$/.exec(label)?.[1] ?? [],
  )

  expect(points.length).toBeGreaterThan(10)
  expect(new Set(struck).size).toBe(Math.min(20, points.length))
  expect(new Set(quick).size).toBe(quick.length)
  expect(quick.length).toBeLessThan(labels(false).length)
  expect(labels(true)).toEqual(quick)
  expect(labels(true, 2).toSorted()).not.toEqual(quick.toSorted())
})

test.each([1, 2, 3])(
  'the quick plan of seed %d has the scenarios that are needed, and six others',
  (seed) => {
    const names = scenarios.map(({ name }) => name)
    const needed = scenarios.flatMap(({ name, isNeeded }) => (isNeeded === true ? name : []))
    const planned = planScenarios(names, { quick: true, seed })

    expect(needed).toEqual(expect.arrayContaining(['payment.create', 'payment.create.replicated']))
    expect(planned).toEqual(expect.arrayContaining(needed))
    expect(planned).toHaveLength(needed.length + 6)
    expect(planScenarios(names, { quick: false, seed })).toEqual(names)
  },
)

test.each([1, 2, 3])('the quick plan of seed %d has every fault', (seed) => {
  const applicable = faults.filter(
    (fault) =>
      isForAny(fault) && all.some(({ points }) => points.some((point) => fault.appliesAt(point))),
  )
  const used = planRuns(all, { quick: true, seed }).map(({ injections }) => injections[0]?.fault)

  expect(applicable.length).toBeGreaterThan(10)
  expect(new Set(used)).toEqual(new Set(applicable.map(({ name }) => name)))
})

test('kills are spread evenly among other runs', () => {
  const deadly = faults.filter(({ kills }) => kills).map(({ name }) => name)
  const isKill = (label: string) => deadly.some((name) => label.includes(`:${name}@`))
  const quick = labels(true).map(isKill)
  const kills = quick.filter((kill) => kill).length
  const most = Math.ceil(kills / (quick.length - kills + 1))

  expect(quick.join().includes(Array.from({ length: most + 2 }, () => true).join())).toBe(false)
})

test('injects into a recovery at the points that it reached, and repeats that for a seed', () => {
  const injection = { fault: 'SIGKILL', point: 'worker/claim/Sync#1/after' }
  const run = { scenario: 'payment.create', injections: [injection] }
  const crash = { fault: 'postgres-immediate', point: 'worker/claim/Sync#1/after' }
  const points = counted('payment.create', 5).points
  const recoveries = [
    { run, points, durableState: 'nothing' },
    { run, points: [], durableState: 'nothing' },
    { run: { ...run, injections: [crash] }, points, durableState: 'nothing' },
  ]
  const options = { seed: 7, count: 10, killShare: 1 }
  const plan = planNested(recoveries, options)

  expect(plan.length).toBeGreaterThan(5)
  for (const { injections } of plan) {
    expect(injections).toHaveLength(2)
    expect(injections[0]).toEqual(injection)
    expect(points.map(({ label }) => label)).toContain(injections[1]?.point)
  }
  expect(planNested(recoveries, options)).toEqual(plan)
  const made = new Set(plan.map(labelOf))
  const others = planNested(recoveries, { ...options, count: 3 }, made)
  expect(others.map(labelOf).filter((label) => made.has(label))).toEqual([])
  expect(planNested([], options)).toEqual([])
})

test('respects the share of kills, as far as the first fault permits', () => {
  const { points } = counted('payment.create', 50)
  const after = (fault: string) => ({
    run: {
      scenario: 'payment.create',
      injections: [{ fault, point: 'worker/claim/Sync#1/after' }],
    },
    points,
    durableState: 'nothing',
  })
  const options = { seed: 7, count: 200 }
  const killing = (killShare: number) =>
    planNested([after('reset'), after('SIGKILL')], { ...options, killShare }).filter(
      ({ injections }) => injections.some(({ fault }) => fault !== 'reset'),
    ).length

  expect(killing(0)).toBe(0)
  expect(killing(0.3)).toBeGreaterThan(30)
  expect(killing(0.3)).toBeLessThan(100)
  expect(killing(1)).toBe(200)
})

test('plans two kills for each pair of durable states', () => {
  const { points } = counted('payment.create', 1)
  const killed = (durableState: string, label = `api/commit-reserve/Query#1/after`) => ({
    run: { scenario: 'payment.create', injections: [{ fault: 'SIGKILL', point: label }] },
    points,
    durableState,
  })
  const reset = killed('nothing')
  const recoveries = [
    killed('nothing', 'api/reserve/Execute#1/before'),
    killed('nothing', 'api/reserve/Execute#1/after'),
    killed('commit-reserve'),
    {
      ...reset,
      run: {
        ...reset.run,
        injections: [{ fault: 'reset', point: 'api/commit-reserve/Query#1/after' }],
      },
    },
  ]

  const plan = planStatePairs(recoveries)

  expect(plan.flatMap(([first]) => (first ? [labelOf(first)] : [])).toSorted()).toEqual([
    'payment.create:SIGKILL@api/commit-reserve/Query#1/after+SIGKILL@api/reserve/Execute#1/before',
    'payment.create:SIGKILL@api/reserve/Execute#1/before+SIGKILL@api/commit-reserve/Query#1/after',
    'payment.create:SIGKILL@api/reserve/Execute#1/before+SIGKILL@api/reserve/Execute#1/before',
  ])
  for (const choices of plan) expect(choices.length).toBeLessThanOrEqual(4)
  expect(plan[0]?.[1]?.injections[0]?.point).toBe('api/reserve/Execute#1/after')
})

test('plans every fault at the provider calls of each operation, with each other provider', () => {
  const plan = planProviders(all, { quick: false, seed: 1 })
  const made = plan.map(labelOf)

  for (const { scenario } of all) {
    for (const { name } of faults.filter((fault) => fault.appliesAt(places[3] as Point))) {
      expect(made).toContain(`${scenario}~lying:${name}@worker/provider-capture/request#1/before`)
    }
  }
  expect(made).not.toContain('payment.create~forgetting:SIGKILL@worker/claim/DataRow#1/before')
  expect(plan.some(({ provider }) => provider === undefined)).toBe(false)
  // It would break its promise.
  const late = made.filter((run) => run.includes('provider-late'))
  expect(late.filter((run) => run.includes('~lying'))).not.toEqual([])
  expect(late.filter((run) => run.includes('~keyless'))).toEqual([])
})
