import { expect, test } from '@jest/globals'
import type { Strike } from '../../../verify/faults/case.ts'
import type { Place } from '../../../verify/faults/points.ts'
import { PASS, Watch, type Verdict } from '../../../verify/faults/watch.ts'

const KILLED: Verdict = { do: 'end' }

function place(name: string, message: string, moment: Place['moment'] = 'before'): Place {
  return { role: 'worker', name, message, moment, of: 'store', way: 'out' }
}

function begin(...points: string[]) {
  const watch = new Watch()
  const struck: Strike[] = []
  watch.begin(
    points.map((point) => ({ fault: 'SIGKILL', point })),
    (strike) => {
      struck.push(strike)
      return KILLED
    },
  )
  return { watch, struck }
}

test('a fault is injected at the point with its ordinal, and at no other', () => {
  const { watch, struck } = begin('worker/advance/Sync#2/before')

  const verdicts = [1, 2, 3].map(() => watch.reached(place('advance', 'Sync')))

  expect(verdicts).toEqual([PASS, KILLED, PASS])
  expect(struck).toHaveLength(1)
  expect(watch.isSpent).toBe(true)
  expect(watch.seen.map(({ label }) => label)).toEqual([
    'worker/advance/Sync#1/before',
    'worker/advance/Sync#2/before',
    'worker/advance/Sync#3/before',
  ])
})

test('a second fault waits for the first', () => {
  const { watch } = begin('worker/claim/Sync#1/before', 'worker/advance/Sync#1/before')

  expect(watch.reached(place('advance', 'Sync'))).toBe(PASS)
  expect(watch.reached(place('claim', 'Sync'))).toBe(KILLED)
  expect(watch.isSpent).toBe(false)
  expect(watch.struckAt).toHaveLength(1)
})

test('a poll for jobs is a point once, after there is a job', () => {
  const { watch } = begin()
  const look = () => {
    watch.reached(place('fetch-operations', 'Query'))
    watch.reached(place('fetch-operations', 'Query', 'after'))
  }

  look()
  watch.reached({ ...place('reserve', 'CommandComplete'), role: 'api', way: 'in' })
  look()
  look()

  expect(watch.seen.map(({ label }) => label)).toEqual([
    'api/reserve/CommandComplete#1/before',
    'worker/fetch-operations/Query#1/before',
    'worker/fetch-operations/Query#1/after',
  ])
})

test('nothing is a point between runs', () => {
  const { watch, struck } = begin('worker/claim/Sync#1/before')

  watch.end()

  expect(watch.reached(place('claim', 'Sync'))).toBe(PASS)
  expect(struck).toEqual([])
})
