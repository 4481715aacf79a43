// The curves of a soak with faults, for the plots of the report.
import type { Plot } from '../../../bench/page.ts'
import { rounded } from '../../../bench/spread.ts'
import type { Violation } from '../results.ts'
import type { Sample } from './samples.ts'
import type { SoakInjection } from './injections.ts'

/** What happened during a soak. */
export interface SoakRecord {
  readonly samples: readonly Sample[]
  readonly injections: readonly SoakInjection[]
  readonly violations: readonly Violation[]
}

const MB = 1e6

type Lines = readonly (readonly [string, (sample: Sample) => number | null])[]

const toMb = (bytes: number | null) => (bytes === null ? null : bytes / MB)

const definitions: readonly {
  readonly title: string
  readonly up: string
  readonly lines: Lines
}[] = [
  {
    title: 'Throughput',
    up: 'answers per second',
    lines: [['answers', ({ answersPerSecond }) => answersPerSecond]],
  },
  {
    title: 'Latency, including retries of the client',
    up: 'ms',
    lines: [
      ['p50', ({ p50Ms }) => p50Ms],
      ['p99', ({ p99Ms }) => p99Ms],
    ],
  },
  {
    title: 'Unfinished operations',
    up: 'operations',
    lines: [['unfinished', ({ unfinished }) => unfinished]],
  },
  {
    title: 'Oldest unfinished operation',
    up: 's',
    lines: [['age', ({ oldestUnfinishedSeconds }) => oldestUnfinishedSeconds]],
  },
  {
    title: 'Resident memory',
    up: 'MB',
    lines: [
      ['API', ({ apiMemoryBytes }) => toMb(apiMemoryBytes)],
      ['worker', ({ workerMemoryBytes }) => toMb(workerMemoryBytes)],
    ],
  },
]

export function plotsOf({ samples, injections }: SoakRecord): Plot[] {
  const labels = samples.map(({ seconds }) => minutesOf(seconds))
  const sampled = definitions.map(({ title, up, lines }) => ({
    title,
    labels,
    across: 'minutes',
    up,
    lines: lines.map(([name, read]) => ({
      name,
      values: samples.map((sample) => roundedOrNull(read(sample))),
    })),
  }))
  return [...sampled, recoveryPlot(injections.filter(({ isInjected }) => isInjected))]
}

/** One value for each injected fault. */
function recoveryPlot(injections: readonly SoakInjection[]): Plot {
  return {
    title: `Recovery from each of ${injections.length} faults`,
    labels: injections.map(({ seconds, fault }) => `${minutesOf(seconds)} ${fault}`),
    across: 'minutes and fault',
    up: 'ms',
    lines: [
      {
        name: 'until all earlier operations had ended',
        values: injections.map(({ recoveryMs }) => roundedOrNull(recoveryMs)),
      },
    ],
  }
}

function minutesOf(seconds: number): string {
  return (seconds / 60).toFixed(1)
}

function roundedOrNull(value: number | null): number | null {
  return value === null ? null : rounded(value)
}
