import { expect, test } from '@jest/globals'
import type { Injection } from '../../../verify/faults/results.ts'
import type { Place } from '../../../verify/faults/points.ts'
import { PASS, Watch, type Action } from '../../../verify/faults/watch.ts'

const KILLED: Action = { do: 'end' }

function place(name: string, message: string, moment: Place['moment'] = 'before'): Place {
  return { role: 'worker', name, message, moment, peer: 'store', direction: 'out' }
}

function begin(...points: string[]) {
  const watch = new Watch()
  const injected: Injection[] = []
  watch.begin(
    points.map((point) => ({ fault: 'SIGKILL', point })),
    (injection) => {
      injected.push(injection)
      return KILLED
    },
  )
  return { watch, injected }
}

test('a fault is injected at the point with its ordinal, and at no other', () => {
  const { watch, injected } = begin('worker/advance/Sync#2/before')

  const verdicts = [1, 2, 3].map(() => watch.reached(place('advance', 'Sync')))

  expect(verdicts).toEqual([PASS, KILLED, PASS])
  expect(injected).toHaveLength(1)
  expect(watch.isComplete).toBe(true)
  expect(watch.points.map(({ label }) => label)).toEqual([
    'worker/advance/Sync#1/before',
    'worker/advance/Sync#2/before',
    'worker/advance/Sync#3/before',
  ])
})

test('a second fault waits for the first', () => {
  const { watch } = begin('worker/claim/Sync#1/before', 'worker/advance/Sync#1/before')

  expect(watch.reached(place('advance', 'Sync'))).toBe(PASS)
  expect(watch.reached(place('claim', 'Sync'))).toBe(KILLED)
  expect(watch.isComplete).toBe(false)
  expect(watch.injectedAt).toHaveLength(1)
})

test('a poll for jobs is a point once, after there is a job', () => {
  const { watch } = begin()
  const look = () => {
    watch.reached(place('fetch-operations', 'Query'))
    watch.reached(place('fetch-operations', 'Query', 'after'))
  }

  look()
  watch.reached({ ...place('commit-reserve', 'ReadyForQuery'), role: 'api', direction: 'in' })
  look()
  look()

  expect(watch.points.map(({ label }) => label)).toEqual([
    'api/commit-reserve/ReadyForQuery#1/before',
    'worker/fetch-operations/Query#1/before',
    'worker/fetch-operations/Query#1/after',
  ])
})

test('nothing is a point between runs', () => {
  const { watch, injected } = begin('worker/claim/Sync#1/before')

  watch.end()

  expect(watch.reached(place('claim', 'Sync'))).toBe(PASS)
  expect(injected).toEqual([])
})
