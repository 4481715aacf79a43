// Computes how much a noise delays the neighbour: the ratio of each time to the time alone in the
// same round, and the median of these ratios.
import { rounded } from '../spread.ts'
import type { NeighbourTimes } from './neighbour.ts'
import type { NoiseName } from './levels.ts'

export interface NeighbourRow extends NeighbourTimes {
  readonly noise: NoiseName
  readonly level: number
  readonly round: number
}

/** A time of the neighbour beside a noise. */
interface ComparedTime {
  /** Median over the rounds, in milliseconds. */
  readonly ms: number
  /** Divided by the time alone: the median over the rounds, and its spread. */
  readonly ratio: number
  readonly lowest: number
  readonly highest: number
  /** What the bound allows: the median over the rounds, in milliseconds. */
  readonly allowedMs: number
  readonly reached: boolean
}

export interface ComparedLevel {
  readonly noise: NoiseName
  readonly level: number
  readonly payment: Readonly<Record<Figure, ComparedTime>>
  readonly webhook: Readonly<Record<Figure, ComparedTime>>
  readonly unexpected: number
  readonly missing: number
}

export const figures = ['median', 'p95'] as const
type Figure = (typeof figures)[number]

/** A phase makes one call at the provider. */
const RATIO_MAX = 2

/** @param callMs how long one call of the provider takes during each noise. */
export function compare(
  rows: readonly NeighbourRow[],
  callMs: Readonly<Record<NoiseName, number>>,
): ComparedLevel[] {
  const groups = Map.groupBy(rows, ({ noise, level }) => `${noise} ${level}`)
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const { noise, level } = first
    const pairs = group.map((row) => ({ row, alone: aloneIn(rows, row) }))
    const compareTimes = (what: 'payment' | 'webhook') => {
      const compareFigure = (figure: Figure) => {
        const own = pairs.map(({ row, alone }) => [row[what][figure], alone[what][figure]] as const)
        return compareTime(own, callMs[noise])
      }
      return { median: compareFigure('median'), p95: compareFigure('p95') }
    }
    const sum = (count: (row: NeighbourRow) => number) =>
      group.reduce((total, row) => total + count(row), 0)
    return {
      noise,
      level,
      payment: compareTimes('payment'),
      webhook: compareTimes('webhook'),
      unexpected: sum(({ unexpected }) => unexpected),
      missing: sum(({ missing }) => missing),
    }
  })
}

function aloneIn(rows: readonly NeighbourRow[], { noise, round }: NeighbourRow): NeighbourRow {
  const alone = rows.find((row) => row.noise === noise && row.round === round && row.level === 0)
  if (alone === undefined) throw new Error(`B was not measured alone beside ${noise}`)
  return alone
}

function compareTime(
  pairs: readonly (readonly [ms: number, aloneMs: number])[],
  callMs: number,
): ComparedTime {
  const ratios = pairs
    .map(([ms, aloneMs]) => ms / Math.max(Number.EPSILON, aloneMs))
    .toSorted((a, b) => a - b)
  const allowed = pairs.map(([, aloneMs]) => RATIO_MAX * aloneMs + callMs)
  const ms = medianOf(pairs.map(([own]) => own))
  return {
    ms: rounded(ms),
    ratio: rounded(medianOf(ratios)),
    lowest: rounded(ratios[0] ?? 0),
    highest: rounded(ratios.at(-1) ?? 0),
    allowedMs: rounded(medianOf(allowed)),
    reached: medianOf(pairs.map(([own], index) => own / (allowed[index] ?? 0))) <= 1,
  }
}

function medianOf(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}
