import { expect, test } from '@jest/globals'
import { durableStates } from '../../../verify/faults/durable-states.ts'
import { PointCounter, type Place } from '../../../verify/faults/points.ts'

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

test('the class of a point is the last durable step', () => {
  const points = pointsOf(
    store('claim', 'Execute'),
    store('claim', 'Sync'),
    store('claim', 'Sync', 'after'),
    store('claim', 'ReadyForQuery'),
    provider('request'),
    provider('reply'),
    store('look-up', 'Sync', 'after'),
    store('fetch-operations', 'Query', 'after'),
  )

  expect(durableStates(points)).toEqual([
    'nothing',
    'nothing',
    'claim',
    'claim',
    'claim',
    'provider-authorize',
    'provider-authorize',
    'fetch-operations',
  ])
})

test('points of a recovery begin in the state in which the fault was injected', () => {
  expect(durableStates(pointsOf(store('look-up', 'Sync')), 'reserve')).toEqual(['reserve'])
})
