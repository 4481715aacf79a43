// Whether an answer takes longer with more in the tables. Only what exceeds the differences among rounds counts, and
// processor time, which a busy moment of the machine changes least, is judged beside the times.
import { rounded } from '../spread.ts'
import type { Row } from '../speed/rounds.ts'
import type { SubjectName } from '../speed/subjects.ts'

export interface SizedRow extends Row {
  readonly size: number
}

/** A figure of a subject, by size. */
export interface JudgedFigure {
  readonly subject: SubjectName
  readonly concurrency: number
  /** `cpu` is the processor time of an answer, in Node and Postgres together. */
  readonly figure: 'p50' | 'p99' | 'cpu'
  /** The median over the rounds, in milliseconds. */
  readonly at: readonly { readonly size: number; readonly ms: number }[]
  /** The largest size by the smallest. */
  readonly ratio: number
  readonly verdict: 'flat' | 'GROWS'
}

/** Below it, the largest size is as fast as the smallest, whatever the rounds say. */
export const FACTOR = 1.25

/**
 * A figure GROWS when its median at the largest size is above that at the smallest by the factor, and no
 * round at the largest size was as fast as the slowest one at the smallest.
 */
export function judgeLatency(rows: readonly SizedRow[]): JudgedFigure[] {
  const groups = Map.groupBy(rows, ({ subject, concurrency }) => `${subject} ${concurrency}`)
  return [...groups.values()].flatMap((group) => [
    judgeFigure(group, 'p50', ({ latencyMs }) => latencyMs.median),
    judgeFigure(group, 'p99', ({ latencyMs }) => latencyMs.p99),
    judgeFigure(group, 'cpu', ({ nodeCpuMs, postgresCpuMs }) => nodeCpuMs + postgresCpuMs),
  ])
}

function judgeFigure(
  rows: readonly SizedRow[],
  figure: JudgedFigure['figure'],
  read: (row: Row) => number,
): JudgedFigure {
  const sized = [...Map.groupBy(rows, ({ size }) => size)]
    .toSorted(([a], [b]) => a - b)
    .map(([size, ofSize]) => ({ size, times: ofSize.map(read).toSorted((a, b) => a - b) }))
  const at = sized.map(({ size, times }) => ({
    size,
    ms: rounded(times[Math.floor(times.length / 2)] ?? 0),
  }))
  const [smallest, largest] = [sized[0], sized.at(-1)]
  const [first] = rows
  if (smallest === undefined || largest === undefined || first === undefined) {
    throw new Error('nothing was measured')
  }
  const ratio = (at.at(-1)?.ms ?? 0) / Math.max(Number.EPSILON, at[0]?.ms ?? 0)
  const apart = (largest.times[0] ?? 0) > (smallest.times.at(-1) ?? 0)
  const { subject, concurrency } = first
  const verdict = ratio > FACTOR && apart ? 'GROWS' : 'flat'
  return { subject, concurrency, figure, at, ratio: rounded(ratio), verdict }
}
