// Summarizes the measurements of a run as medians over the rounds and counts of unexpected answers.
import { rounded } from '../spread.ts'
import type { BenchOptions } from './arguments.ts'
import type { Machine } from '../machine.ts'
import type { HotKey } from './load.ts'
import type { Ratio } from './ratios.ts'
import type { Row } from './rounds.ts'
import type { SubjectName } from './subjects.ts'

export interface Report {
  readonly at: string
  readonly options: BenchOptions
  readonly machine: Machine
  readonly ratios: readonly Ratio[]
  /** Answers with an unexpected status, in all measurements together. */
  readonly unexpected: number
  /** Answers other than 2xx to payments, each of which had a new key. */
  readonly non_2xx: number
  readonly rows: readonly Row[]
}

/** Returns a row for each subject and concurrency, with the medians over the rounds. */
export function summarize(rows: readonly Row[]): Row[] {
  const groups = Map.groupBy(rows, ({ subject, concurrency }) => `${subject} ${concurrency}`)
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const group = [first, ...others]
    const median = (figure: (row: Row) => number) => medianOf(group.map(figure))
    const hotKeys = group.flatMap(({ hotKey }) => hotKey ?? [])
    return {
      ...first,
      perSecond: median((row) => row.perSecond),
      latencyMs: {
        count: median((row) => row.latencyMs.count),
        median: median((row) => row.latencyMs.median),
        p95: median((row) => row.latencyMs.p95),
        p99: median((row) => row.latencyMs.p99),
        max: median((row) => row.latencyMs.max),
      },
      unexpected: group.reduce((sum, row) => sum + row.unexpected, 0),
      non2xx: group.reduce((sum, row) => sum + row.non2xx, 0),
      ...(hotKeys.length > 0 && { hotKey: summarizeHotKeys(hotKeys) }),
      nodeCpuMs: median((row) => row.nodeCpuMs),
      postgresCpuMs: median((row) => row.postgresCpuMs),
    }
  })
}

function summarizeHotKeys(all: readonly HotKey[]): HotKey {
  return {
    ownerMs: medianOf(all.map(({ ownerMs }) => ownerMs)),
    aloneMs: medianOf(all.map(({ aloneMs }) => aloneMs)),
    lockWaits: medianOf(all.map(({ lockWaits }) => lockWaits)),
    lockWaitsMost: Math.max(...all.map(({ lockWaitsMost }) => lockWaitsMost)),
  }
}

function medianOf(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b)
  return rounded(sorted[Math.floor(sorted.length / 2)] ?? 0)
}

/** Subjects that create payments in the service. */
const PAYING_SUBJECTS: readonly SubjectName[] = [
  'accept',
  'accept_unwalled',
  'accept_unkeyed',
  'pay_wait',
  'pay_wait_unwalled',
  'mixed',
]

export function countUnexpected(rows: readonly Row[]): number {
  return rows.reduce((sum, { unexpected }) => sum + unexpected, 0)
}

/** Counts answers other than 2xx. With distinct keys no request may be rejected. */
export function countNon2xx(rows: readonly Row[]): number {
  const paying = rows.filter(({ subject }) => PAYING_SUBJECTS.includes(subject))
  return paying.reduce((sum, { non2xx }) => sum + non2xx, 0)
}
