import { expect, test } from '@jest/globals'
import { brokenRun, type RunResult } from '../../../verify/faults/results.ts'
import { untilStruck } from '../../../verify/faults/until-struck.ts'

const strikes = [
  { fault: 'reset', point: 'worker/claim/Sync#1/after' },
  { fault: 'reset', point: 'worker/claim/Sync#2/after' },
]
const broken = brokenRun({ scenario: 'payment.create', strikes }, undefined, 'it broke', 1)
const struck = (times: number): RunResult => ({ ...broken, struck: times, violations: [] })

const goesOn = new AbortController().signal

async function keptOf(results: readonly RunResult[], signal = goesOn, most?: number) {
  const left = results.map((result) => ({ result }))
  const make = () => Promise.resolve(left.shift() ?? { result: broken })
  const { result } = await untilStruck(make, signal, most)
  return { result, tries: results.length - left.length }
}

test.each([
  ['the first that was struck as often as it was to be', [2, 0], 2, 1],
  ['the next, when the first has missed', [1, 2, 0], 2, 2],
  ['the one that was struck most, when all have missed', [0, 1, 0], 1, 3],
])('of several tries that one is kept: %s', async (_what, times, wanted, tries) => {
  expect(await keptOf(times.map(struck))).toEqual({ result: struck(wanted), tries })
})

test('what breaks something is kept, however often it was struck before', async () => {
  expect(await keptOf([struck(1), broken, struck(2)])).toEqual({ result: broken, tries: 2 })
})

test('one try is enough for what others can take the place of, unless nothing has struck it', async () => {
  expect((await keptOf([struck(1), struck(2)], goesOn, 1)).tries).toBe(1)
  expect((await keptOf([struck(0), struck(1), struck(2)], goesOn, 1)).tries).toBe(2)
})

test('there is no other try when nobody waits for it any more', async () => {
  expect((await keptOf([struck(1), struck(2)], AbortSignal.abort())).tries).toBe(1)
})
