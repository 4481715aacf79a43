// Computes the ratios of a run and compares them with their bounds. Each ratio divides two figures
// of the same round, so that it is valid on any machine. Its value is the median over the rounds.
import { rounded } from '../spread.ts'
import type { Row } from './rounds.ts'
import type { SubjectName } from './subjects.ts'

export interface Ratio {
  readonly name: string
  readonly title: string
  /** Undefined when one of the two figures was not measured. */
  readonly value: number | undefined
  /** The extremes over the rounds. */
  readonly lowest: number
  readonly highest: number
  readonly bound: 'at least' | 'at most'
  readonly wanted: number
  readonly aim: number
  readonly reached: boolean | undefined
}

interface Definition extends Pick<Ratio, 'name' | 'title' | 'bound' | 'wanted' | 'aim'> {
  readonly of: (figure: Figure) => number | undefined
}

/** Finds a row of one round. */
type Figure = (subject: SubjectName, concurrency: number) => Row | undefined

/** Saturates two cores without long queues. */
const MANY = 16
const ONE = 1

// prettier-ignore
const definitions: readonly Definition[] = [
  { name: 'accepts_vs_own_statements', title: 'accepts/s ÷ own statements: the intent', bound: 'at least', wanted: 0.3, aim: 0.4,
    of: (figure) => divide(figure('accept', MANY)?.perSecond, figure('own_intent', MANY)?.perSecond) },
  { name: 'completed_vs_dbos', title: 'completed payments/s, waiting ÷ DBOS', bound: 'at least', wanted: 2, aim: 3,
    of: (figure) => divide(figure('pay_wait', MANY)?.perSecond, figure('dbos', MANY)?.perSecond) },
  { name: 'completed_vs_own_statements', title: 'completed payments/s ÷ own statements: a payment', bound: 'at least', wanted: 0.4, aim: 0.55,
    of: (figure) => divide(figure('pay_wait', MANY)?.perSecond, figure('own_payment', MANY)?.perSecond) },
  { name: 'cpu_vs_dbos', title: 'processor time of a completed payment ÷ DBOS', bound: 'at most', wanted: 0.5, aim: 0.35,
    of: (figure) => divide(cpuOf(figure('pay_wait', MANY)), cpuOf(figure('dbos', MANY))) },
  { name: 'replay_vs_select', title: 'replay p50 ÷ one prepared SELECT through Express', bound: 'at most', wanted: 1.5, aim: 1.2,
    of: (figure) => divide(figure('replay', MANY)?.latencyMs.median, figure('select', MANY)?.latencyMs.median) },
  { name: 'accepts_vs_unwalled', title: 'accepts/s ÷ the same without row-level security', bound: 'at least', wanted: 0.9, aim: 0.97,
    of: (figure) => divide(figure('accept', MANY)?.perSecond, figure('accept_unwalled', MANY)?.perSecond) },
  { name: 'completed_vs_unwalled', title: 'completed/s ÷ the same without row-level security', bound: 'at least', wanted: 0.9, aim: 0.97,
    of: (figure) => divide(figure('pay_wait', MANY)?.perSecond, figure('pay_wait_unwalled', MANY)?.perSecond) },
  { name: 'pay_wait_vs_sum', title: 'pay and wait p50, 1 client ÷ SQL + provider calls', bound: 'at most', wanted: 2.5, aim: 1.5,
    of: (figure) => divide(figure('pay_wait', ONE)?.latencyMs.median, sumOfParts(figure)) },
]

export function ratiosOf(rows: readonly Row[]): Ratio[] {
  const rounds = [...new Set(rows.map(({ round }) => round))]
  return definitions.map(({ of, ...definition }) => {
    const values = rounds.flatMap((round) => of(figuresOf(rows, round)) ?? [])
    const sorted = values.toSorted((a, b) => a - b)
    const value = sorted[Math.floor(sorted.length / 2)]
    const [lowest = 0] = sorted
    const highest = sorted.at(-1) ?? 0
    return {
      ...definition,
      value: value === undefined ? undefined : rounded(value),
      lowest: rounded(lowest),
      highest: rounded(highest),
      reached: value === undefined ? undefined : isReached(definition, value),
    }
  })
}

function isReached({ bound, wanted }: Pick<Ratio, 'bound' | 'wanted'>, value: number): boolean {
  return bound === 'at least' ? value >= wanted : value <= wanted
}

function figuresOf(rows: readonly Row[], round: number): Figure {
  return (subject, concurrency) =>
    rows.find(
      (row) => row.round === round && row.subject === subject && row.concurrency === concurrency,
    )
}

function cpuOf(row: Row | undefined): number | undefined {
  return row && row.nodeCpuMs + row.postgresCpuMs
}

function sumOfParts(figure: Figure): number | undefined {
  const sql = figure('own_payment', ONE)?.latencyMs.median
  const call = figure('provider', ONE)?.latencyMs.median
  return sql === undefined || call === undefined ? undefined : sql + 2 * call
}

function divide(figure: number | undefined, by: number | undefined): number | undefined {
  return figure === undefined || by === undefined ? undefined : figure / by
}
