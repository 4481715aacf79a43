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

test('prints a line every 30 seconds until all steps are done', () => {
  const { lines, progressed } = begin(2)

  jest.advanceTimersByTime(30_000)
  progressed(1)
  jest.advanceTimersByTime(59_000)
  progressed(2)
  jest.advanceTimersByTime(120_000)

  expect(lines).toEqual([
    'Runs: 0 of 2\n',
    'Runs: 1 of 2, 30 s left\n',
    'Runs: 1 of 2, 1 min 0 s left\n',
    'Runs: 2 of 2\n',
  ])
})
