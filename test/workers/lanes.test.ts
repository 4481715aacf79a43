// Tests how many jobs a receiver may have in progress.
import { expect, test } from '@jest/globals'
import { Lanes } from '../../workers/lanes.ts'

const SLOW_MS = 1_000
const first = { tenant: 'a', lane: 'a/1' }
const second = { tenant: 'a', lane: 'a/2' }

const webhookLanes = () => new Lanes({ initialWindow: 1, slowMs: SLOW_MS })

test('a lane is full with its first job, and its tenant is busy until its last one ends', () => {
  const lanes = webhookLanes()
  lanes.begin(first)
  lanes.begin(second)
  expect(lanes.fullLanes).toEqual(['a/1', 'a/2'])

  lanes.end(first, 1)
  expect(lanes.busyTenants).toEqual(['a'])
  expect(lanes.busyLanes).toEqual(['a/2'])

  lanes.end(second, 1)
  expect(lanes.busyTenants).toEqual([])
})

test('a lane may have one more job after each that ends soon, and one after a slow one', () => {
  const lanes = webhookLanes()
  lanes.begin(first)
  lanes.end(first, SLOW_MS)
  lanes.begin(first)
  expect(lanes.fullLanes).toEqual([])
  lanes.begin(first)
  expect(lanes.fullLanes).toEqual(['a/1'])

  lanes.end(first, SLOW_MS + 1)
  expect(lanes.fullLanes).toEqual(['a/1'])
  lanes.end(first, 1)
  lanes.forgetIdle()
  lanes.begin(first)
  expect(lanes.fullLanes).toEqual(['a/1'])
})

test('lanes without a limit are never full', () => {
  const lanes = new Lanes({ initialWindow: Infinity, slowMs: Infinity })
  for (let job = 0; job < 100; job += 1) lanes.begin(first)
  lanes.end(first, 60_000)

  expect(lanes.fullLanes).toEqual([])
})
