// Tests how many jobs a receiver may have in progress.
import { expect, test } from '@jest/globals'
import { Lanes } from '../../workers/lanes.ts'

const SLOW_MS = 1_000
const first = { tenant: 'a', lane: 'a/1' }
const second = { tenant: 'a', lane: 'a/2' }

const webhookLanes = () => new Lanes({ initialWindow: 1, slowMs: SLOW_MS })

test('a lane is full with its first job, and its tenant is busy until its last one ends', () => {
  const lanes = webhookLanes()
  lanes.begin(first, 0)
  lanes.begin(second, 0)
  expect(lanes.fullLanes(0)).toEqual(['a/1', 'a/2'])

  lanes.end(first, 0, 1)
  expect(lanes.busyTenants).toEqual(['a'])
  expect(lanes.busyLanes).toEqual(['a/2'])

  lanes.end(second, 0, 1)
  expect(lanes.busyTenants).toEqual([])
})

test('a lane may have one more job after each that ends soon, and one after a slow one', () => {
  const lanes = webhookLanes()
  lanes.begin(first, 0)
  lanes.end(first, 0, SLOW_MS)
  lanes.begin(first, 0)
  expect(lanes.fullLanes(0)).toEqual([])
  lanes.begin(first, 0)
  expect(lanes.fullLanes(0)).toEqual(['a/1'])

  lanes.end(first, 0, SLOW_MS + 1)
  expect(lanes.fullLanes(0)).toEqual(['a/1'])
  lanes.end(first, 0, 1)
  lanes.forgetIdle()
  lanes.begin(first, 0)
  expect(lanes.fullLanes(0)).toEqual(['a/1'])
})

test('lanes without a limit are never full', () => {
  const lanes = new Lanes({ initialWindow: Infinity, slowMs: Infinity })
  for (let job = 0; job < 100; job += 1) lanes.begin(first, 0)
  lanes.end(first, 0, 60_000)

  expect(lanes.fullLanes(60_000)).toEqual([])
})

test('slow jobs of a lane hang beyond its first one, and it may have no more', () => {
  const lanes = webhookLanes()
  for (let job = 0; job < 3; job += 1) {
    lanes.begin(first, 0)
    lanes.end(first, 0, 1)
  }
  for (let job = 0; job < 3; job += 1) lanes.begin(first, 10 * job)
  lanes.begin(second, 0)
  expect(lanes.countHanging(SLOW_MS)).toBe(0)
  expect(lanes.fullLanes(SLOW_MS)).toEqual(['a/2'])

  expect(lanes.countHanging(SLOW_MS + 1)).toBe(0)
  expect(lanes.fullLanes(SLOW_MS + 1)).toEqual(['a/1', 'a/2'])
  expect(lanes.countHanging(SLOW_MS + 11)).toBe(1)
  expect(lanes.countHanging(SLOW_MS + 21)).toBe(2)
  lanes.end(first, 0, SLOW_MS + 21)
  lanes.end(first, 10, SLOW_MS + 21)
  expect(lanes.countHanging(SLOW_MS + 21)).toBe(0)
  expect(lanes.fullLanes(SLOW_MS + 21)).toEqual(['a/1', 'a/2'])
})
