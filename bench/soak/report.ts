// Writes the report of a soak: the data as JSON, plots over time, and a table with a verdict for
// each curve.
import { showMachine, type Machine } from '../machine.ts'
import { renderPlots, table, type Plot } from '../page.ts'
import { cells as cellsOf, WIDTH, writeFiles, type ReportFiles } from '../report-files.ts'
import { rounded } from '../spread.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { isBusy, type JudgedCurve } from './curves.ts'
import type { Sample } from './samples.ts'

export interface SoakReport {
  readonly at: string
  readonly options: BenchOptions
  readonly machine: Machine
  /** Requests sent per second. */
  readonly rate: number
  /** The retention of idempotency keys and jobs during this soak. */
  readonly retentionSeconds: number
  /** The number of answers with an unexpected status, and the first of them. */
  readonly unexpected: number
  readonly firstUnexpected: string | undefined
  readonly curves: readonly JudgedCurve[]
  readonly samples: readonly Sample[]
}

/** Whether no curve grows and every answer was expected. */
export function isFlat({ curves, unexpected }: SoakReport): boolean {
  return unexpected === 0 && curves.every(({ verdict }) => verdict !== 'GROWS')
}

export async function writeSoakReport(report: SoakReport): Promise<ReportFiles> {
  return await writeFiles('soak', report, await renderSoakPage(report))
}

const RULE =
  'GROWS: the median of the last third of the samples is above that of the middle third times the ' +
  'factor, plus the slack. The first third does not count.'

const BUSY = 'Other processes used the machine during the soak: latency is not judged.'

function renderSoakPage(report: SoakReport): Promise<string> {
  const rows = report.curves.map((curve) => ({
    cells: [...cellsOfCurve(curve), curve.verdict],
    mark: markOf(curve),
  }))
  const heading = [
    'curve',
    'unit',
    'middle third',
    'last third',
    'factor',
    'slack',
    'beginning',
    'verdict',
  ]
  return renderPlots(
    {
      title: `${showMinutes(report)} of steady load`,
      heading: `${showMachine(report.machine)}, ${report.at}; ${summaryOf(report)}`,
      body: ['<div id="plots"></div>', '<h2>Verdicts</h2>', `<p>${RULE}</p>`, table(heading, rows)],
    },
    plotsOf(report),
  )
}

function markOf({ verdict }: JudgedCurve): 'reached' | 'missed' | undefined {
  if (verdict === 'not judged') return undefined
  return verdict === 'flat' ? 'reached' : 'missed'
}

function plotsOf({ curves, samples }: SoakReport): Plot[] {
  const labels = samples.slice(1).map(({ seconds }) => (seconds / 60).toFixed(1))
  return [...Map.groupBy(curves, ({ plot }) => plot)].map(([title, ofPlot]) => ({
    title,
    labels,
    across: 'minutes',
    up: ofPlot[0]?.unit ?? '',
    lines: ofPlot.map(({ name, values }) => ({ name, values })),
  }))
}

export function showSoakReport(report: SoakReport): string {
  const line = '='.repeat(WIDTH)
  const { unexpected, firstUnexpected } = report
  const unexpectedLines =
    unexpected === 0 ? [] : [`${unexpected} unexpected answers, the first: ${firstUnexpected}`]
  return [
    line,
    showMachine(report.machine),
    summaryOf(report),
    line,
    cells(['', 'unit', 'middle third', 'last third', 'factor', 'slack', 'beginning', 'verdict']),
    '-'.repeat(WIDTH),
    ...report.curves.map((curve) => cells([...cellsOfCurve(curve), curve.verdict])),
    '-'.repeat(WIDTH),
    'GROWS: the median of the last third is above that of the middle third x factor + slack.',
    ...(isBusy(report.curves) ? [BUSY] : []),
    ...unexpectedLines,
    line,
    '',
  ].join('\n')
}

function summaryOf({ options, rate, retentionSeconds, samples }: SoakReport): string {
  const last = samples.at(-1)
  return (
    `${showMinutes({ options })} at ${rate} requests/s: ${last?.payments.toLocaleString('en')} payments of ` +
    `${last?.answers.toLocaleString('en')} answers; keys and jobs kept for ${retentionSeconds} s`
  )
}

const COLUMNS = [42, 6, 14, 12, 8, 7, 10, 11]

function cells(texts: readonly (string | number)[]): string {
  return cellsOf(COLUMNS, texts)
}

function cellsOfCurve(curve: JudgedCurve): (string | number)[] {
  const { plot, name, unit, middle, last, tolerance, values } = curve
  const beginning = values.find((value) => value !== null)
  const { factor = '', slack = '' } = tolerance ?? {}
  return [`${plot}: ${name}`, unit, shown(middle), shown(last), factor, slack, shown(beginning)]
}

function shown(value: number | null | undefined): number | string {
  return value === null || value === undefined ? '' : rounded(value)
}

function showMinutes({ options: { minutes } }: Pick<SoakReport, 'options'>): string {
  return minutes === 1 ? 'A minute' : `${minutes} minutes`
}
