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
  /** Null when the ratio only informs. */
  readonly wanted: number | null
  readonly aim: number | null
  readonly reached: boolean | undefined
}

interface Definition extends Pick<Ratio, 'name' | 'title' | 'bound' | 'wanted' | 'aim'> {
  readonly of: (figure: Figure) => number | undefined
}

/** Finds a row of one round. */
type Figure = (subject: SubjectName, concurrency: number) => Row | undefined

const CROWD = 64
/** Saturates two cores without long queues. */
const MANY = 16
const ONE = 1

const NO_BOUND = { wanted: null, aim: null } as const

// prettier-ignore
const definitions: readonly Definition[] = [
  { name: 'accepts_vs_lean_intent', title: 'accepts/s ÷ lean intent', bound: 'at least', wanted: 0.4, aim: 0.6,
    of: (figure) => divide(figure('accept', MANY)?.perSecond, figure('lean_intent', MANY)?.perSecond) },
  { name: 'completed_vs_lean_payment', title: 'completed payments/s, waiting ÷ lean payment', bound: 'at least', ...NO_BOUND,
    of: (figure) => divide(figure('pay_wait', MANY)?.perSecond, figure('lean_payment', MANY)?.perSecond) },
  { name: 'completed_vs_dbos', title: 'completed payments/s, waiting ÷ DBOS', bound: 'at least', wanted: 3.5, aim: 5,
    of: (figure) => divide(figure('pay_wait', MANY)?.perSecond, figure('dbos', MANY)?.perSecond) },
  { name: 'cpu_vs_dbos', title: 'processor time of a completed payment ÷ DBOS', bound: 'at most', wanted: 0.3, aim: 0.2,
    of: (figure) => divide(cpuOf(figure('pay_wait', MANY)), cpuOf(figure('dbos', MANY))) },
  { name: 'replay_vs_select', title: 'replay p50 ÷ one prepared SELECT through Express', bound: 'at most', wanted: 1.5, aim: 1.2,
    of: (figure) => divide(figure('replay', MANY)?.latencyMs.median, figure('select', MANY)?.latencyMs.median) },
  { name: 'accepts_vs_unwalled', title: 'accepts/s ÷ the same without row-level security', bound: 'at least', wanted: 0.93, aim: 0.97,
    of: (figure) => divide(figure('accept', MANY)?.perSecond, figure('accept_unwalled', MANY)?.perSecond) },
  { name: 'postgres_vs_lean_payment', title: "PostgreSQL's time of a payment, 1 client ÷ lean", bound: 'at most', wanted: 3, aim: 2,
    of: (figure) => divide(figure('pay_wait', ONE)?.postgresCpuMs, figure('lean_payment', ONE)?.postgresCpuMs) },
  { name: 'accepts_at_64_vs_16', title: 'accepts/s at 64 clients ÷ at 16', bound: 'at least', wanted: 1.5, aim: 2,
    of: (figure) => divide(figure('accept', CROWD)?.perSecond, figure('accept', MANY)?.perSecond) },
  { name: 'accepts_vs_unkeyed', title: 'accepts/s ÷ the same without idempotency', bound: 'at least', ...NO_BOUND,
    of: (figure) => divide(figure('accept', MANY)?.perSecond, figure('accept_unkeyed', MANY)?.perSecond) },
  { name: 'hot_key_owner_vs_alone', title: 'hot key: accepted request ÷ a request alone, p50', bound: 'at most', ...NO_BOUND,
    of: (figure) => divide(figure('hot_key', CROWD)?.hotKey?.ownerMs, figure('hot_key', CROWD)?.hotKey?.aloneMs) },
  { name: 'completed_vs_unwalled', title: 'completed/s ÷ the same without row-level security', bound: 'at least', wanted: 0.9, aim: 0.97,
    of: (figure) => divide(figure('pay_wait', MANY)?.perSecond, figure('pay_wait_unwalled', MANY)?.perSecond) },
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
      reached: isReached(definition, value),
    }
  })
}

function isReached(
  { bound, wanted }: Pick<Ratio, 'bound' | 'wanted'>,
  value: number | undefined,
): boolean | undefined {
  if (value === undefined || wanted === null) return undefined
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

/** Without an answer in a short measurement there is nothing to divide by. */
function divide(figure: number | undefined, by: number | undefined): number | undefined {
  return figure === undefined || by === undefined || by === 0 ? undefined : figure / by
}
