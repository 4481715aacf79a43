import { expect, test } from '@jest/globals'
import { measureStolenTime } from '../../../verify/faults/suite.ts'

/** A /proc/stat with these times: user, nice, system, idle, iowait, irq, softirq, steal, guest. */
const stat = (...times: number[]) => `cpu  ${times.join(' ')} 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n`

function shareBetween(before: string, after: string): number {
  const texts = [before, after].values()
  return measureStolenTime(() => texts.next().value ?? '')()
}

test('is the share of stolen time in all time since the start', () => {
  const [before, after] = [stat(9, 9, 9, 9, 9, 9, 9, 90, 9), stat(19, 9, 9, 29, 9, 9, 9, 100, 19)]

  expect(shareBetween(before, after)).toBeCloseTo(10 / 40)
})

test('is 0 when no time has passed, or when the system does not count it', () => {
  expect(shareBetween(stat(1, 1, 1, 1, 1, 1, 1, 1, 1), stat(1, 1, 1, 1, 1, 1, 1, 1, 1))).toBe(0)
  expect(shareBetween('', '')).toBe(0)
})
