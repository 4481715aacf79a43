import { expect, test } from '@jest/globals'
import { PointCounter, type Place } from '../../../../verify/faults/points.ts'
import { SmallDisk } from '../../../../verify/faults/lane-parts.ts'
import { choicesOf } from '../../../../verify/faults/soak.ts'

const reserve: Place = {
  role: 'api',
  name: 'reserve',
  message: 'Execute',
  moment: 'before',
  peer: 'store',
  direction: 'out',
}

const counter = new PointCounter()
const sent: Place = { ...reserve, name: 'commit-reserve', message: 'Query', moment: 'after' }
const points = [reserve, reserve, sent].map((place) => counter.count(place))
const counted = [
  { scenario: 'payment.create', points },
  { scenario: 'refund.create', points },
]

const namesOf = (options: { disk?: SmallDisk | string; replicated?: boolean } = {}) =>
  choicesOf(counted, { options } as Parameters<typeof choicesOf>[1]).map(
    ([injection]) => injection?.fault,
  )

test('injects a fault at the first point of its kind, once for all scenarios that have it', () => {
  const choices = choicesOf(counted, { options: {} } as Parameters<typeof choicesOf>[1])

  expect(choices[0]).toEqual([
    { fault: 'SIGKILL', point: 'api/reserve/Execute#1/before' },
    { fault: 'SIGKILL', point: 'api/commit-reserve/Query#1/after' },
  ])
  expect(choices.flat().map(({ point }) => point)).not.toContain('api/reserve/Execute#2/before')
})

test('does not draw faults that do not apply, or for which the lane lacks something', () => {
  expect(namesOf()).toContain('connections-full')
  expect(namesOf()).not.toContain('zombie')
  expect(namesOf()).not.toContain('provider-late')
  expect(namesOf({ disk: 'not permitted' })).not.toContain('disk-full')
  expect(namesOf()).not.toContain('failover-killed')
  expect(namesOf({ replicated: true })).toContain('failover-killed')
})
