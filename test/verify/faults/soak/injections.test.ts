import { expect, test } from '@jest/globals'
import { PointCounter, type Place } from '../../../../verify/faults/points.ts'
import { SmallDisk } from '../../../../verify/faults/small-disk.ts'
import { choicesOf } from '../../../../verify/faults/soak/injections.ts'

const reserve: Place = {
  role: 'api',
  name: 'reserve',
  message: 'Execute',
  moment: 'before',
  peer: 'store',
  direction: 'out',
}

const counter = new PointCounter()
const points = [reserve, reserve].map((place) => counter.count(place))
const counted = [
  { scenario: 'payment.create', points },
  { scenario: 'refund.create', points },
]

const namesOf = (disk?: SmallDisk | string) => {
  const options = disk === undefined ? {} : { disk }
  return choicesOf(counted, { options } as Parameters<typeof choicesOf>[1]).map(
    ([injection]) => injection?.fault,
  )
}

test('injects a fault at the first point of its kind, once for all scenarios that have it', () => {
  const choices = choicesOf(counted, { options: {} } as Parameters<typeof choicesOf>[1])

  expect(choices).toContainEqual([{ fault: 'SIGKILL', point: 'api/reserve/Execute#1/before' }])
  expect(choices.flat().map(({ point }) => point)).not.toContain('api/reserve/Execute#2/before')
})

test('does not draw faults that do not apply, nor a full disk without a small disk', () => {
  expect(namesOf()).toContain('connections-full')
  expect(namesOf()).not.toContain('zombie')
  expect(namesOf()).not.toContain('provider-late')
  expect(namesOf('not permitted')).not.toContain('disk-full')
})
