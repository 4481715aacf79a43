// What a run of the benchmark has measured, and what it comes to.
import { rounded } from '../spread.ts'
import type { BenchOptions } from './arguments.ts'
import type { Machine } from '../machine.ts'
import type { Ratio } from './ratios.ts'
import type { Row } from './rounds.ts'
import type { SubjectName } from './subjects.ts'

export interface Report {
  readonly at: string
  readonly options: BenchOptions
  readonly machine: Machine
  readonly ratios: readonly Ratio[]
  /** Answers of another status than the expected one, of all measurements together. */
  readonly unexpected: number
  /** Of the payments that were made, each under a key of its own: answers whose status was no 2xx. */
  readonly non_2xx: number
  readonly rows: readonly Row[]
}

/** One line for each subject and concurrency: of each figure the median over the rounds. */
export function summarize(rows: readonly Row[]): Row[] {
  const groups = Map.groupBy(rows, ({ subject, concurrency }) => `${subject} ${concurrency}`)
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const group = [first, ...others]
    const median = (figure: (row: Row) => number) => {
      const sorted = group.map(figure).toSorted((a, b) => a - b)
      return rounded(sorted[Math.floor(sorted.length / 2)] ?? 0)
    }
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
      nodeCpuMs: median((row) => row.nodeCpuMs),
      postgresCpuMs: median((row) => row.postgresCpuMs),
    }
  })
}

/** What makes payments: the rest reads, repeats or is somebody else's. */
const PAYING: readonly SubjectName[] = [
  'accept',
  'accept_unwalled',
  'pay_wait',
  'pay_wait_unwalled',
  'mixed',
]

export function countUnexpected(rows: readonly Row[]): number {
  return rows.reduce((sum, { unexpected }) => sum + unexpected, 0)
}

/** Under distinct keys nothing is refused: whatever is no 2xx is one too many. */
export function countNon2xx(rows: readonly Row[]): number {
  const paying = rows.filter(({ subject }) => PAYING.includes(subject))
  return paying.reduce((sum, { non2xx }) => sum + non2xx, 0)
}
