import { afterEach, expect, jest, test } from '@jest/globals'
import { progressOn } from '../../bench/progress.ts'

afterEach(() => void jest.useRealTimers())

function begin(steps: number) {
  jest.useFakeTimers()
  const lines: string[] = []
  const write = (line: string) => lines.push(line) > 0
  return { lines, progressed: progressOn({ write }).begin('Runs', steps) }
}

test('prints a line for each tenth, with counts and the time left, if the output is no terminal', () => {
  const { lines, progressed } = begin(200)

  jest.advanceTimersByTime(10_000)
  for (let done = 1; done <= 20; done += 1) progressed(done)
  jest.advanceTimersByTime(10_000)
  progressed(40)

  expect(lines).toEqual([
    'Runs: 20 of 200, 1 min 30 s left\n',
    'Runs: 40 of 200, 1 min 20 s left\n',
  ])
})
