import { expect, test } from '@jest/globals'
import { plotsOf } from '../../../../verify/faults/soak/curves.ts'
import type { Sample } from '../../../../verify/faults/soak/samples.ts'
import type { SoakInjection } from '../../../../verify/faults/soak/injections.ts'

const sample: Sample = {
  seconds: 30,
  answersPerSecond: 8.123456,
  p50Ms: 20,
  p99Ms: 900,
  unfinished: 3,
  oldestUnfinishedSeconds: 1.5,
  apiMemoryBytes: 120e6,
  workerMemoryBytes: 90e6,
}

const away: Sample = { ...sample, seconds: 60, unfinished: null, p50Ms: null, apiMemoryBytes: null }

const injected: SoakInjection = {
  fault: 'SIGKILL',
  point: 'worker/claim/Sync#1/after',
  seconds: 90,
  isInjected: true,
  recoveryMs: 1_200,
  returnMs: null,
  violations: [],
}

const plots = plotsOf({
  samples: [sample, away],
  injections: [injected, { ...injected, isInjected: false, recoveryMs: null }],
  violations: [],
})

const linesOf = (title: string) => {
  const plot = plots.find((one) => one.title.startsWith(title))
  return { labels: plot?.labels, values: plot?.lines.map(({ values }) => values) }
}

test('draws a value for each sample, and a gap where there was none', () => {
  expect(linesOf('Throughput')).toEqual({ labels: ['0.5', '1.0'], values: [[8.12, 8.12]] })
  expect(linesOf('Latency').values).toEqual([
    [20, null],
    [900, 900],
  ])
  expect(linesOf('Unfinished').values).toEqual([[3, null]])
  expect(linesOf('Resident memory').values).toEqual([
    [120, null],
    [90, 90],
  ])
})

test('draws the recovery from each injected fault', () => {
  expect(plots.at(-1)?.title).toBe('Recovery from each of 1 faults')
  expect(linesOf('Recovery')).toEqual({ labels: ['1.5 SIGKILL'], values: [[1_200]] })
})
