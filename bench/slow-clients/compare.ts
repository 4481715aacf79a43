// Computes what slow clients cost healthy ones: the ratio of each figure with slow clients to the
// same figure without them in the same round, and the median of these ratios.
import { rounded } from '../spread.ts'
import type { Row } from '../speed/rounds.ts'
import type { SubjectName } from '../speed/subjects.ts'

export interface SlowRow extends Row {
  /** The number of slow clients; 0 in the measurements without them. */
  readonly slowClients: number
}

/** A figure of a subject, with and without slow clients. */
export interface ComparedFigure {
  readonly subject: SubjectName
  /** `cpu` is the processor time per answer, of Node and PostgreSQL together. */
  readonly figure: 'p50' | 'p99' | 'cpu'
  /** Medians over the rounds, in milliseconds. */
  readonly without: number
  readonly beside: number
  /** `beside` divided by `without`: the median over the rounds, and its spread. */
  readonly ratio: number
  readonly lowest: number
  readonly highest: number
  /** The highest allowed ratio, and whether it was met. Only the p99 has one. */
  readonly wanted?: number
  readonly reached?: boolean
}

const P99_RATIO_MAX = 2

const figures: Record<ComparedFigure['figure'], (row: Row) => number> = {
  p50: ({ latencyMs }) => latencyMs.median,
  p99: ({ latencyMs }) => latencyMs.p99,
  cpu: ({ nodeCpuMs, postgresCpuMs }) => nodeCpuMs + postgresCpuMs,
}

export function compare(rows: readonly SlowRow[]): ComparedFigure[] {
  return [...Map.groupBy(rows, ({ subject }) => subject)].flatMap(([subject, own]) =>
    (['p50', 'p99', 'cpu'] as const).map((figure) => compareFigure(own, subject, figure)),
  )
}

function compareFigure(
  rows: readonly SlowRow[],
  subject: SubjectName,
  figure: ComparedFigure['figure'],
): ComparedFigure {
  const read = figures[figure]
  const pairs = [...Map.groupBy(rows, ({ round }) => round).values()].flatMap((own) => {
    const without = own.find(({ slowClients }) => slowClients === 0)
    const beside = own.find(({ slowClients }) => slowClients > 0)
    return without === undefined || beside === undefined
      ? []
      : [{ without: read(without), beside: read(beside) }]
  })
  const ratios = pairs
    .map(({ without, beside }) => beside / Math.max(Number.EPSILON, without))
    .toSorted((a, b) => a - b)
  const ratio = medianOf(ratios)
  return {
    subject,
    figure,
    without: rounded(medianOf(pairs.map(({ without }) => without))),
    beside: rounded(medianOf(pairs.map(({ beside }) => beside))),
    ratio: rounded(ratio),
    lowest: rounded(ratios[0] ?? 0),
    highest: rounded(ratios.at(-1) ?? 0),
    ...(figure === 'p99' ? { wanted: P99_RATIO_MAX, reached: ratio <= P99_RATIO_MAX } : {}),
  }
}

/** @throws Error when no round has both measurements. */
function medianOf(numbers: readonly number[]): number {
  const median = numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
  if (median === undefined) throw new Error('nothing was measured')
  return median
}
