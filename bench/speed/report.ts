// The report: everything as JSON, one page to look at, and one table for people.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { renderPage } from './page.ts'
import type { Ratio } from './ratios.ts'
import type { Row } from './rounds.ts'
import { subjects } from './subjects.ts'
import { summarize, type Report } from './summary.ts'

const FOLDER = fileURLToPath(new URL('../../bench-report', import.meta.url))
const WIDTH = 110

/** Writes JSON and page, and returns their paths. */
export async function writeReport(report: Report): Promise<{ json: string; html: string }> {
  const [json, html] = [join(FOLDER, 'latest.json'), join(FOLDER, 'latest.html')]
  const ratios = Object.fromEntries(report.ratios.map(({ name, value }) => [name, value ?? null]))
  const all = { ...report, ratios, ratio_details: report.ratios }
  await mkdir(FOLDER, { recursive: true })
  await writeFile(json, `${JSON.stringify(all, undefined, 2)}\n`)
  await writeFile(html, await renderPage(report))
  return { json, html }
}

export function showReport({ machine, options, ratios, rows, unexpected }: Report): string {
  const line = '='.repeat(WIDTH)
  const heading =
    `${machine.cores} x ${machine.cpu}, PostgreSQL ${machine.postgres}, Node ${machine.node}, ` +
    `commit ${machine.commit}, ${options.payments.toLocaleString('en')} payments before`
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
    cells(['', 'clients', 'per s', 'p50 ms', 'p95 ms', 'p99 ms', 'CPU ms: Node', 'Postgres']),
    '-'.repeat(WIDTH),
    ...lines,
    '',
    cells(['Ratios: the median of the rounds', '', 'is', 'lowest', 'highest', '', 'wanted', 'aim']),
    '-'.repeat(WIDTH),
    ...ratios.map(showRatio),
    `unexpected answers: ${unexpected}`,
    line,
    '',
  ].join('\n')
}

const COLUMNS = [48, 8, 9, 8, 8, 8, 13, 9]

function cells(texts: readonly (string | number)[]): string {
  return COLUMNS.map((width, column) => {
    const text = String(texts[column] ?? '')
    return column === 0 ? text.padEnd(width) : text.padStart(width)
  })
    .join('')
    .trimEnd()
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
  const missed = reached === true ? '' : 'MISSED'
  return cells([title, '', value, lowest, highest, missed, `${sign} ${wanted}`, aim])
}
