import { expect, test } from '@jest/globals'
import { brokenRun, type RunResult } from '../../../verify/faults/results.ts'
import { runUntilInjected, runUntilInTime } from '../../../verify/faults/suite.ts'

const injections = [
  { fault: 'reset', point: 'worker/claim/Sync#1/after' },
  { fault: 'reset', point: 'worker/claim/Sync#2/after' },
]
const broken = brokenRun({ scenario: 'payment.create', injections }, undefined, 'it broke', 1)
const withFaults = (times: number): RunResult => ({ ...broken, struck: times, violations: [] })

const goesOn = new AbortController().signal

async function keptOf(results: readonly RunResult[], signal = goesOn, most?: number) {
  const left = results.map((result) => ({ result }))
  const make = () => Promise.resolve(left.shift() ?? { result: broken })
  const { result } = await runUntilInjected(make, signal, most)
  return { result, tries: results.length - left.length }
}

test.each([
  ['the first attempt when it had all faults', [2, 0], 2, 1],
  ['the next attempt when the first missed', [1, 2, 0], 2, 2],
  ['the attempt with most faults when all missed', [0, 1, 0, 0, 0], 1, 5],
])('keeps %s', async (_what, times, wanted, tries) => {
  expect(await keptOf(times.map(withFaults))).toEqual({ result: withFaults(wanted), tries })
})

test('keeps an attempt with violations, even after one with another number of faults', async () => {
  expect(await keptOf([withFaults(1), broken, withFaults(2)])).toEqual({ result: broken, tries: 2 })
})

test('makes one attempt when other runs can replace it, unless no fault was injected', async () => {
  expect((await keptOf([withFaults(1), withFaults(2)], goesOn, 1)).tries).toBe(1)
  expect((await keptOf([withFaults(0), withFaults(1), withFaults(2)], goesOn, 1)).tries).toBe(2)
})

test('makes no further attempt after an abort', async () => {
  expect((await keptOf([withFaults(1), withFaults(2)], AbortSignal.abort())).tries).toBe(1)
})

const late = {
  ...broken,
  violations: [{ invariant: 7, what: 'it took long', isLate: true }],
} as const

test.each([
  [
    'until one is in time',
    [late, late, withFaults(2)],
    withFaults(2),
    ['it took long', 'it took long'],
  ],
  [
    'three times at most',
    [late, late, late, withFaults(2)],
    late,
    ['it took long', 'it took long'],
  ],
  ['not when another invariant is broken', [broken, withFaults(2)], broken, []],
])('makes a run that is only late again, %s', async (_what, results, wanted, said) => {
  const left = results.map((result: RunResult) => ({ result }))
  const make = () => Promise.resolve(left.shift() ?? { result: broken })
  const heard: (string | undefined)[] = []
  const onLate = ({ violations: [first] }: RunResult) => void heard.push(first?.what)

  const { result } = await runUntilInTime(make, goesOn, undefined, onLate)

  expect(result).toEqual(wanted)
  expect(heard).toEqual(said)
})
