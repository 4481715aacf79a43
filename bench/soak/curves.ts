// Defines the curves of a soak: how each is computed from the samples, and how much it may grow and
// still count as flat. The rule of the verdict is the same for all curves and simple enough to check
// by hand.
import { BUSY_LIMIT } from '../machine.ts'
import { medianOf, rounded } from '../spread.ts'
import { historyTables, steadyTables, type Sample, type TableSize } from './samples.ts'
import { trafficKinds, type TrafficKind } from './traffic.ts'

/** How much a curve may grow and still count as flat. */
interface Tolerance {
  /** The factor by which the last third may exceed the middle third. */
  readonly factor: number
  /** The additional growth, in the unit of the curve, that is too small to matter. */
  readonly slack: number
}

interface Judgement {
  /** Medians of the middle third and of the last third of the samples. */
  readonly middle: number | null
  readonly last: number | null
  readonly verdict: 'flat' | 'GROWS' | 'not judged'
}

/** Curves of the same plot have the same unit. */
interface Curve {
  readonly plot: string
  readonly unit: string
  readonly name: string
  readonly values: readonly (number | null)[]
  /** Null: the curve is shown but not judged. */
  readonly tolerance: Tolerance | null
}

export type JudgedCurve = Curve & Judgement

interface EarlierSamples {
  readonly first: Sample
  readonly previous: Sample
}

type Read = (sample: Sample, earlier: EarlierSamples) => number | null

interface Definition extends Omit<Curve, 'values'> {
  readonly read: Read
}

const MB = 1e6

/** Detects a leak of a few MB a minute within twenty minutes, and tolerates uncollected garbage. */
const MEMORY: Tolerance = { factor: 1.1, slack: 8 }
/** Tables grow in steps of up to 64 pages, and their size varies between two vacuums. */
const SIZE: Tolerance = { factor: 1.2, slack: 2 }
const DEAD_ROWS: Tolerance = { factor: 1.3, slack: 2_000 }
const PER_PAYMENT: Tolerance = { factor: 1.15, slack: 100 }
const CPU: Tolerance = { factor: 1.2, slack: 0.3 }
const OLDEST: Tolerance = { factor: 1.5, slack: 1 }
const P50: Tolerance = { factor: 1.25, slack: 2 }
/** One percent of a sample is a few answers, so other processes on the machine affect it. */
const P99: Tolerance = { factor: 1.5, slack: 20 }

const LATENCY = 'Latency'
const MACHINE = 'The machine'

const definitions: readonly Definition[] = [
  ...memory(),
  ...processorTime(),
  ...trafficKinds.flatMap((kind) => [latency(kind, 'p50', P50), latency(kind, 'p99', P99)]),
  oldest('oldest waiting job', ({ oldestJobSeconds }) => oldestJobSeconds),
  oldest('oldest unfinished operation', ({ oldestUnfinishedSeconds }) => oldestUnfinishedSeconds),
  ...steadyTables.flatMap((table) => [
    size(table, 'table', ({ tableBytes }) => tableBytes),
    size(table, 'indexes', ({ indexBytes }) => indexBytes),
    deadRows(table),
  ]),
  ...historyTables.map(perPayment),
]

/**
 * Computes and judges the curves. The first sample precedes all answers, so it is not part of a
 * curve.
 */
export function curvesOf(samples: readonly Sample[]): JudgedCurve[] {
  const [first] = samples
  if (first === undefined) return []
  const curves = definitions.map(({ read, ...curve }) => {
    const values = samples.slice(1).map((sample, index) => {
      const value = read(sample, { first, previous: samples[index] ?? first })
      return value === null ? null : rounded(value)
    })
    return { ...curve, values, ...judge(values, curve.tolerance) }
  })
  return isBusy(curves) ? curves.map(withoutLatency) : curves
}

/** Whether other processes used the machine. Latency then says nothing about the service. */
export function isBusy(curves: readonly JudgedCurve[]): boolean {
  return curves.some(
    ({ plot, middle, last }) =>
      plot === MACHINE && Math.max(middle ?? 0, last ?? 0) > BUSY_LIMIT * 100,
  )
}

function withoutLatency(curve: JudgedCurve): JudgedCurve {
  return curve.plot.startsWith(LATENCY) ? { ...curve, verdict: 'not judged' } : curve
}

function memory(): Definition[] {
  const curve = { plot: 'Resident memory', unit: 'MB', tolerance: MEMORY }
  return [
    { ...curve, name: 'API', read: ({ apiMemoryBytes }) => apiMemoryBytes / MB },
    { ...curve, name: 'worker', read: ({ workerMemoryBytes }) => workerMemoryBytes / MB },
  ]
}

/**
 * Processor time per answer since the previous sample, and the share of the machine that other
 * processes used.
 */
function processorTime(): Definition[] {
  const curve = { plot: 'Processor time of an answer', unit: 'ms', tolerance: CPU }
  return [
    { ...curve, name: 'Node', read: eachAnswer(({ nodeCpuMs }) => nodeCpuMs) },
    { ...curve, name: 'Postgres', read: eachAnswer(({ postgresCpuMs }) => postgresCpuMs) },
    {
      plot: MACHINE,
      unit: '%',
      name: 'used by other processes',
      tolerance: null,
      read: othersShare,
    },
  ]
}

function eachAnswer(cpuMs: (sample: Sample) => number): Read {
  return (now, { previous }) => divide(cpuMs(now) - cpuMs(previous), now.answers - previous.answers)
}

function othersShare(now: Sample, { previous }: EarlierSamples): number | null {
  const share = divide(now.othersMs - previous.othersMs, now.machineMs - previous.machineMs)
  return share === null ? null : Math.max(0, share) * 100
}

function divide(figure: number, by: number): number | null {
  return by === 0 ? null : figure / by
}

function latency(kind: TrafficKind, share: 'p50' | 'p99', tolerance: Tolerance): Definition {
  const plot = `${LATENCY}, ${share}`
  const read: Read = ({ latencyMs }) => latencyMs[kind]?.[share] ?? null
  return { plot, unit: 'ms', name: kind, tolerance, read }
}

function oldest(name: string, read: Read): Definition {
  return { plot: 'Oldest work', unit: 's', name, tolerance: OLDEST, read }
}

function size(table: string, part: string, bytesOf: (size: TableSize) => number): Definition {
  const read: Read = ({ tables }) => readTable(tables, table, bytesOf, MB)
  return { plot: `Size of ${table}`, unit: 'MB', name: part, tolerance: SIZE, read }
}

function deadRows(table: string): Definition {
  const read: Read = ({ tables }) => readTable(tables, table, ({ deadRows: rows }) => rows)
  return { plot: 'Dead rows', unit: 'rows', name: table, tolerance: DEAD_ROWS, read }
}

/** Growth of the table and its indexes since the start, divided by the payments since the start. */
function perPayment(table: string): Definition {
  const read: Read = ({ tables, payments }, { first }) => {
    const [now, before] = [tables, first.tables].map((all) => readTable(all, table, allBytes))
    return divide((now ?? 0) - (before ?? 0), payments - first.payments)
  }
  const plot = 'Growth for each payment'
  return { plot, unit: 'bytes', name: table, tolerance: PER_PAYMENT, read }
}

function allBytes({ tableBytes, indexBytes }: TableSize): number {
  return tableBytes + indexBytes
}

function readTable(
  tables: Sample['tables'],
  name: string,
  figure: (size: TableSize) => number,
  unit = 1,
): number {
  const table = tables[name]
  if (table === undefined) throw new Error(`the sample has no table ${name}`)
  return figure(table) / unit
}

/** The fewest samples of a third that give a meaningful median. */
const SAMPLES_MIN = 3

/**
 * Compares the median of the last third with that of the middle third. The curve GROWS when the
 * last median is above the middle median times the factor, plus the slack. The first third does not
 * count: caches fill, code is compiled, and autovacuum has not run yet. Samples without a value are
 * skipped.
 */
export function judge(values: readonly (number | null)[], tolerance: Tolerance | null): Judgement {
  const third = Math.floor(values.length / 3)
  const middle = medianIfEnough(values.slice(third, values.length - third))
  const last = medianIfEnough(values.slice(values.length - third))
  if (middle === null || last === null || tolerance === null)
    return { middle, last, verdict: 'not judged' }
  const grows = last > middle * tolerance.factor + tolerance.slack
  return { middle, last, verdict: grows ? 'GROWS' : 'flat' }
}

/** Returns null when there are too few samples. */
function medianIfEnough(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length < SAMPLES_MIN ? null : medianOf(known)
}
