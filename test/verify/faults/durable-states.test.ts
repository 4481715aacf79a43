import { expect, test } from '@jest/globals'
import {
  durableStates,
  isCommitBoundary,
  PointCounter,
  type Place,
  type Point,
} from '../../../verify/faults/points.ts'

function pointsOf(...places: Place[]) {
  const counter = new PointCounter()
  return places.map((place) => counter.count(place))
}

const store = (name: string, message: string, moment: Place['moment'] = 'before'): Place => ({
  role: 'worker',
  name,
  message,
  moment,
  peer: 'store',
  direction: message === 'ReadyForQuery' ? 'in' : 'out',
})
const provider = (message: string): Place => ({
  role: 'worker',
  name: 'provider-authorize',
  message,
  moment: 'before',
  peer: 'provider',
  direction: message === 'request' ? 'out' : 'in',
})

test('the class of a point is the last durable step: within a transaction there is none', () => {
  const points = pointsOf(
    store('claim', 'Sync', 'after'),
    store('commit-claim', 'Query'),
    store('commit-claim', 'Query', 'after'),
    store('commit-claim', 'ReadyForQuery'),
    provider('request'),
    provider('reply'),
    store('lookup', 'Sync', 'after'),
    store('fetch-operations', 'Query', 'after'),
  )

  expect(durableStates(points)).toEqual([
    'nothing',
    'nothing',
    'commit-claim',
    'commit-claim',
    'commit-claim',
    'provider-authorize',
    'provider-authorize',
    'fetch-operations',
  ])
})

test('points of a recovery begin in the state in which the fault was injected', () => {
  expect(durableStates(pointsOf(store('lookup', 'Sync')), 'commit-reserve')).toEqual([
    'commit-reserve',
  ])
})

test.each([
  [store('commit-advance', 'Query'), true],
  [store('commit-advance', 'Query', 'after'), true],
  [store('commit-advance', 'ReadyForQuery'), true],
  [store('advance', 'Sync', 'after'), false],
  [store('update-payments', 'ReadyForQuery'), false],
  [store('complete-job', 'Query'), true],
])('%j is around a commit: %s', (place, expected) => {
  const [point] = pointsOf(place)

  expect(isCommitBoundary(point as Point)).toBe(expected)
})
