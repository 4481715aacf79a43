// The curves of a soak, in one table: what each is made of, and what it may do and still be flat.
import { BUSY_LIMIT } from '../machine.ts'
import { rounded } from '../spread.ts'
import { historyTables, steadyTables, type Sample, type TableSize } from './samples.ts'
import { trafficKinds, type TrafficKind } from './traffic.ts'
import { judge, type Judged, type Tolerance } from './verdict.ts'

/** Curves of one plot have one unit. */
export interface Curve {
  readonly plot: string
  readonly unit: string
  readonly name: string
  readonly values: readonly (number | null)[]
  /** Null: it is shown, and not judged. */
  readonly tolerance: Tolerance | null
}

export type JudgedCurve = Curve & Judged

interface Earlier {
  readonly first: Sample
  readonly previous: Sample
}

type Read = (sample: Sample, earlier: Earlier) => number | null

interface Definition extends Omit<Curve, 'values'> {
  readonly read: Read
}

const MB = 1e6

/** A leak of a few MB a minute is seen in twenty minutes; what a collector of garbage leaves is not one. */
const MEMORY: Tolerance = { factor: 1.1, slack: 8 }
/** Tables grow in steps of up to 64 pages, and breathe between two vacuums. */
const SIZE: Tolerance = { factor: 1.2, slack: 2 }
const DEAD_ROWS: Tolerance = { factor: 1.3, slack: 2_000 }
const PER_PAYMENT: Tolerance = { factor: 1.15, slack: 100 }
const CPU: Tolerance = { factor: 1.2, slack: 0.3 }
const OLDEST: Tolerance = { factor: 1.5, slack: 1 }
const P50: Tolerance = { factor: 1.25, slack: 2 }
/** The hundredth part of a sample is a handful of answers: what the machine does besides is in it. */
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

/** The first sample is that of the beginning: nothing had been answered yet, and so it is no part of a curve. */
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

/** Whether something else used the machine: how long answers take then says nothing of the service. */
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

/** Of an answer since the sample before; and how much of the machine was not this run's. */
function processorTime(): Definition[] {
  const curve = { plot: 'Processor time of an answer', unit: 'ms', tolerance: CPU }
  return [
    { ...curve, name: 'Node', read: eachAnswer(({ nodeCpuMs }) => nodeCpuMs) },
    { ...curve, name: 'Postgres', read: eachAnswer(({ postgresCpuMs }) => postgresCpuMs) },
    {
      plot: MACHINE,
      unit: '%',
      name: 'used by something else',
      tolerance: null,
      read: othersShare,
    },
  ]
}

function eachAnswer(cpuMs: (sample: Sample) => number): Read {
  return (now, { previous }) => divide(cpuMs(now) - cpuMs(previous), now.answers - previous.answers)
}

function othersShare(now: Sample, { previous }: Earlier): number | null {
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

/** By how much the table has grown since the beginning, with its indexes, for each payment since then. */
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
