// Writes the report of the speed: the data as JSON, a page with charts, and a table for the
// terminal.
import { showMachine } from '../machine.ts'
import { cells as cellsOf, WIDTH, writeFiles, type ReportFiles } from '../report-files.ts'
import { showHotKey } from './hot-key.ts'
import { renderPage } from './page.ts'
import type { Ratio } from './ratios.ts'
import type { Row } from './rounds.ts'
import { subjects } from './subjects.ts'
import { summarize, type Report } from './summary.ts'

export async function writeReport(report: Report): Promise<ReportFiles> {
  return await writeFiles('latest', renderJson(report), await renderPage(report))
}

/** Returns the ratios by name, and their bounds and spreads as `ratio_details`. */
function renderJson(report: Report) {
  const ratios = Object.fromEntries(report.ratios.map(({ name, value }) => [name, value ?? null]))
  return { ...report, ratios, ratio_details: report.ratios }
}

export function showReport({ machine, options, ratios, rows, ...report }: Report): string {
  const line = '='.repeat(WIDTH)
  const heading = `${showMachine(machine)}, ${options.payments.toLocaleString('en')} payments before`
  const summary = summarize(rows)
  const lines = subjects.flatMap(({ name, title }) =>
    summary
      .filter(({ subject }) => subject === name)
      .toSorted((a, b) => a.concurrency - b.concurrency)
      .map((figures) => showRow(title, figures)),
  )
  return [
    line,
    heading,
    line,
    cells(['', 'clients', 'per s', 'p50 ms', 'p95 ms', 'p99 ms', 'CPU: Node', 'Postgres']),
    '-'.repeat(WIDTH),
    ...lines,
    'CPU: milliseconds of processor time per answer.',
    ...summary.flatMap(({ hotKey }) => (hotKey === undefined ? [] : showHotKey(hotKey))),
    '',
    cells([
      'Ratios: medians over the rounds',
      '',
      'median',
      'lowest',
      'highest',
      '',
      'required',
      'goal',
    ]),
    '-'.repeat(WIDTH),
    ...ratios.map(showRatio),
    cells([
      'answers other than 2xx under distinct keys',
      '',
      report.non_2xx,
      '',
      '',
      '',
      '<= 0',
      0,
    ]),
    cells(['unexpected answers', '', report.unexpected]),
    line,
    '',
  ].join('\n')
}

/** The titles of the ratios are the longest. */
const COLUMNS = [51, 8, 8, 8, 8, 8, 10, 9]

function cells(texts: readonly (string | number)[]): string {
  return cellsOf(COLUMNS, texts)
}

function showRow(title: string, row: Row): string {
  const { median, p95, p99 } = row.latencyMs
  const { nodeCpuMs, postgresCpuMs } = row
  const perSecond = Math.round(row.perSecond)
  return cells([title, row.concurrency, perSecond, median, p95, p99, nodeCpuMs, postgresCpuMs])
}

function showRatio({ title, value, lowest, highest, bound, wanted, aim, reached }: Ratio): string {
  if (value === undefined) return cells([title, '', 'not measured'])
  const sign = bound === 'at least' ? '>=' : '<='
  const missed = reached === false ? 'MISSED' : ''
  const required = wanted === null ? '' : `${sign} ${wanted}`
  return cells([title, '', value, lowest, highest, missed, required, aim ?? ''])
}
