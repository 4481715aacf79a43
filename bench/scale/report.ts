// Writes the report of `--scale`: the data as JSON, plots by size, and tables of latency, plans and
// workers.
import { showMachine, type Machine } from '../machine.ts'
import { renderPlots, table, type Plot } from '../page.ts'
import { cells, WIDTH, writeFiles, type ReportFiles } from '../report-files.ts'
import { rounded } from '../spread.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { subjects } from '../speed/subjects.ts'
import { FACTOR, type JudgedFigure, type SizedRow } from './judge-latency.ts'
import type { JudgedPlan, SizedPlans } from './judge-plans.ts'
import type { WorkersRow } from './workers.ts'

export interface ScaleReport {
  readonly at: string
  readonly options: BenchOptions
  readonly machine: Machine
  /** Answers with an unexpected status. */
  readonly unexpected: number
  readonly latency: readonly JudgedFigure[]
  readonly plans: readonly JudgedPlan[]
  readonly workers: readonly WorkersRow[]
  readonly rows: readonly SizedRow[]
  readonly plan_texts: readonly SizedPlans[]
}

/** Whether latency and plans do not depend on the size, and every answer was expected. */
export function isIndependentOfSize({ unexpected, latency, plans }: ScaleReport): boolean {
  return (
    unexpected === 0 &&
    latency.every(({ verdict }) => verdict === 'flat') &&
    plans.every(({ scanned, changesAt }) => scanned.length === 0 && changesAt.length === 0)
  )
}

export async function writeScaleReport(report: ScaleReport): Promise<ReportFiles> {
  return await writeFiles('scale', report, await renderScalePage(report))
}

const RULE =
  `GROWS: the median at the largest size is above ${FACTOR} x that at the smallest, and every round at ` +
  'the largest size was slower than every round at the smallest.'

function renderScalePage(report: ScaleReport): Promise<string> {
  const sizes = sizesOf(report)
  const latency = report.latency.map((figure) => ({
    cells: [titleOf(figure), ...figure.at.map(({ ms }) => ms), figure.ratio, figure.verdict],
    mark: markOf(figure.verdict === 'flat'),
  }))
  const plans = report.plans.map((plan) => ({
    cells: [`${plan.of}: ${plan.statement}`, plan.indexes.join(', '), verdictOf(plan)],
    mark: markOf(verdictOf(plan) === SAME),
  }))
  return renderPlots(
    {
      title: 'Latency and plans by table size, throughput by workers',
      heading: `${showMachine(report.machine)}, ${report.at}; ${report.options.rounds} rounds of ${report.options.seconds} s each`,
      body: [
        '<div id="plots"></div>',
        '<h2>Milliseconds by payments in the tables</h2>',
        `<p>${RULE}</p>`,
        table(['', ...sizes.map(showCount), 'largest ÷ smallest', 'verdict'], latency),
        '<h2>Plans</h2>',
        table(['statement', 'indexes', 'at all sizes'], plans),
        '<h2>Workers</h2>',
        table(['workers', ...WORKERS_HEADING], workerRows(report).map(asRow)),
      ],
    },
    [...latencyPlots(report), workersPlot(report)],
  )
}

function asRow(texts: readonly (string | number)[]) {
  return { cells: texts }
}

function latencyPlots({ latency }: ScaleReport): Plot[] {
  return [
    ...Map.groupBy(latency, ({ concurrency, figure }) => `${figure}, ${clients(concurrency)}`),
  ].map(([title, figures]) => ({
    title: `Latency, ${title}`,
    labels: sizesOf({ latency }).map(showCount),
    across: 'payments in the tables',
    up: 'ms',
    lines: figures.map(({ subject, at }) => ({ name: subject, values: at.map(({ ms }) => ms) })),
  }))
}

function workersPlot(report: ScaleReport): Plot {
  const rows = workerRows(report)
  return {
    title: 'Completed payments per second, 64 clients',
    labels: rows.map(([workers = '']) => workers),
    across: 'worker processes',
    up: 'per second',
    lines: [{ name: 'completed', values: rows.map(([, perSecond]) => Number(perSecond)) }],
  }
}

export function showScaleReport(report: ScaleReport): string {
  const line = '='.repeat(WIDTH)
  const sizes = sizesOf(report)
  const timeColumns = [46, ...sizes.map(() => 12), 8, 8]
  return [
    line,
    showMachine(report.machine),
    line,
    cells(timeColumns, ['ms by payments in the tables', ...sizes.map(showCount), 'ratio', '']),
    '-'.repeat(WIDTH),
    ...report.latency.map((figure) =>
      cells(timeColumns, [
        titleOf(figure),
        ...figure.at.map(({ ms }) => ms),
        figure.ratio,
        figure.verdict,
      ]),
    ),
    ...wrapped(RULE),
    '',
    'Plans at all sizes',
    '-'.repeat(WIDTH),
    ...report.plans.map((plan) =>
      cells([60, 50], [`${plan.of}: ${plan.statement}`, verdictOf(plan)]),
    ),
    '',
    cells([46, 12, 12, 12, 14, 14], ['Workers, 64 clients', ...WORKERS_HEADING]),
    '-'.repeat(WIDTH),
    ...workerRows(report).map((row) => cells([46, 12, 12, 12, 14, 14], row)),
    `unexpected answers: ${report.unexpected}`,
    line,
    '',
  ].join('\n')
}

function wrapped(text: string): string[] {
  const at = text.lastIndexOf(' ', WIDTH)
  return text.length <= WIDTH ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

const SAME = 'the same'

function verdictOf({ scanned, changesAt }: JudgedPlan): string {
  if (scanned.length > 0) return `SEQUENTIAL SCAN OF ${scanned.join(', ')}`
  if (changesAt.length > 0) return `CHANGES at ${changesAt.map(showCount).join(', ')}`
  return SAME
}

const WORKERS_HEADING = ['per second', 'p50 ms', 'p99 ms', 'CPU ms: Node', 'Postgres']

/** Medians over the rounds. */
function workerRows({ workers }: ScaleReport): (string | number)[][] {
  return [...Map.groupBy(workers, (row) => row.workers)]
    .toSorted(([a], [b]) => a - b)
    .map(([number, rows]) => {
      const median = (read: (row: WorkersRow) => number) =>
        rounded(rows.map(read).toSorted((a, b) => a - b)[Math.floor(rows.length / 2)] ?? 0)
      return [
        number,
        median(({ perSecond }) => perSecond),
        median(({ latencyMs }) => latencyMs.median),
        median(({ latencyMs }) => latencyMs.p99),
        median(({ nodeCpuMs }) => nodeCpuMs),
        median(({ postgresCpuMs }) => postgresCpuMs),
      ]
    })
}

function sizesOf({ latency }: Pick<ScaleReport, 'latency'>): number[] {
  return latency[0]?.at.map(({ size }) => size) ?? []
}

function titleOf({ subject, concurrency, figure }: JudgedFigure): string {
  const title = subjects.find(({ name }) => name === subject)?.title ?? subject
  return `${title.split(':')[0]}, ${clients(concurrency)}: ${figure}`
}

function clients(concurrency: number): string {
  return concurrency === 1 ? 'one client' : `${concurrency} clients`
}

function markOf(good: boolean): 'reached' | 'missed' {
  return good ? 'reached' : 'missed'
}

function showCount(count: number): string {
  return count.toLocaleString('en')
}
