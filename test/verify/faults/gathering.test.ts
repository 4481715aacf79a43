import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { Gathering } from '../../../verify/faults/provider-proxy.ts'

let passed: string[] = []
beforeEach(() => {
  jest.useFakeTimers()
  passed = []
})
afterEach(() => {
  jest.useRealTimers()
})

async function arriveAt(gathering: Gathering, name: string): Promise<void> {
  await gathering.arrive()
  passed.push(name)
}

test('answers pass when all have come, and the next ones wait again', async () => {
  const gathering = new Gathering(2)
  const first = arriveAt(gathering, 'first')
  await jest.advanceTimersByTimeAsync(1)
  expect(passed).toEqual([])

  await Promise.all([first, arriveAt(gathering, 'second')])
  expect(passed).toEqual(['first', 'second'])

  void arriveAt(gathering, 'third')
  await jest.advanceTimersByTimeAsync(1)
  expect(passed).toEqual(['first', 'second'])
})

test('an answer does not wait long for others that never come', async () => {
  const gathering = new Gathering(2)
  void arriveAt(gathering, 'alone')

  await jest.advanceTimersByTimeAsync(1_000)

  expect(passed).toEqual(['alone'])
})
