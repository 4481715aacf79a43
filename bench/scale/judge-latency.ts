// Judges whether answers take longer with more payments in the tables. A difference counts only if
// it exceeds the differences between rounds. Processor time is judged too, because a busy machine
// affects it least.
import { medianOf, rounded } from '../spread.ts'
import { figures, type ComparedFigure } from '../speed/conditions.ts'
import type { Row } from '../speed/rounds.ts'
import type { SubjectName } from '../speed/subjects.ts'

export interface SizedRow extends Row {
  readonly size: number
}

/** A figure of a subject at each size. */
export interface JudgedFigure {
  readonly subject: SubjectName
  readonly concurrency: number
  readonly figure: Exclude<ComparedFigure['figure'], 'per second'>
  /** The median over the rounds, in milliseconds. */
  readonly at: readonly { readonly size: number; readonly ms: number }[]
  /** The figure at the largest size divided by the figure at the smallest. */
  readonly ratio: number
  readonly verdict: 'flat' | 'GROWS'
}

/** A ratio up to this factor counts as flat. */
export const FACTOR = 1.25

/**
 * A figure GROWS when its median at the largest size exceeds the median at the smallest by the
 * factor, and every round at the largest size was slower than the slowest round at the smallest.
 */
export function judgeLatency(rows: readonly SizedRow[]): JudgedFigure[] {
  const groups = Map.groupBy(rows, ({ subject, concurrency }) => `${subject} ${concurrency}`)
  return [...groups.values()].flatMap((group) =>
    (['p50', 'p99', 'cpu'] as const).map((figure) => judgeFigure(group, figure)),
  )
}

function judgeFigure(rows: readonly SizedRow[], figure: JudgedFigure['figure']): JudgedFigure {
  const bySize = [...Map.groupBy(rows, ({ size }) => size)]
    .toSorted(([a], [b]) => a - b)
    .map(([size, ofSize]) => ({ size, times: ofSize.map(figures[figure]) }))
  const at = bySize.map(({ size, times }) => ({ size, ms: medianOf(times) }))
  const [smallest, largest] = [bySize[0], bySize.at(-1)]
  const [first] = rows
  if (smallest === undefined || largest === undefined || first === undefined) {
    throw new Error('nothing was measured')
  }
  const ratio = (at.at(-1)?.ms ?? 0) / Math.max(Number.EPSILON, at[0]?.ms ?? 0)
  const separated = Math.min(...largest.times) > Math.max(...smallest.times)
  const { subject, concurrency } = first
  const verdict = ratio > FACTOR && separated ? 'GROWS' : 'flat'
  return { subject, concurrency, figure, at, ratio: rounded(ratio), verdict }
}
