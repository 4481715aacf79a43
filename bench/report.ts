// Publishes a report: the data as JSON, its tables on the terminal, and tables and plots on one page with
// Chart.js embedded. Git ignores the folder `bench-report`.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { showMachine, type Machine } from './machine.ts'

const FOLDER = fileURLToPath(new URL('../bench-report', import.meta.url))
/** The browser build is in the same folder as the exported one. */
const CHART_JS = fileURLToPath(new URL('chart.umd.min.js', import.meta.resolve('chart.js')))
const LINE_PLOTS = fileURLToPath(new URL('line-plots.js', import.meta.url))

export interface Table {
  readonly heading: readonly string[]
  readonly rows: readonly TableRow[]
  /** What is said below it, a line each. */
  readonly notes?: readonly string[]
}

interface TableRow {
  readonly cells: readonly (string | number)[]
  /** Of a bound that was reached or missed. */
  readonly mark?: 'reached' | 'missed' | undefined
}

export interface Plot {
  readonly title: string
  readonly labels: readonly (string | number)[]
  /** The titles of the horizontal and the vertical axis. */
  readonly across: string
  readonly up: string
  readonly lines: readonly { readonly name: string; readonly values: readonly (number | null)[] }[]
}

export interface Shown {
  readonly title: string
  /** Under which it was measured, in one line. */
  readonly conditions: string
  readonly tables: readonly Table[]
  readonly plots: readonly Plot[]
}

/** Writes `<name>.json` and `<name>.html`, and prints the tables. */
export async function publish(
  name: string,
  report: { readonly at: string; readonly machine: Machine; readonly [other: string]: unknown },
  shown: Shown,
): Promise<void> {
  const heading = `${showMachine(report.machine)}, ${report.at}`
  const [json, html] = [join(FOLDER, `${name}.json`), join(FOLDER, `${name}.html`)]
  await mkdir(FOLDER, { recursive: true })
  await writeFile(json, `${JSON.stringify(report, undefined, 2)}\n`)
  await writeFile(html, await renderPage(heading, shown))
  process.stdout.write(`\n${showReport(heading, shown)}All measurements: ${json}\n${html}\n`)
}

const WIDTH = 110

export function showReport(heading: string, { conditions, tables }: Shown): string {
  const line = '='.repeat(WIDTH)
  const texts = tables.flatMap(({ notes = [], ...table }) => ['', ...showTable(table), ...notes])
  return [line, heading, conditions, line, ...texts.slice(1), line, ''].join('\n')
}

/** The first column is left-aligned, all others are right-aligned. */
export function showTable({ heading, rows }: Omit<Table, 'notes'>): string[] {
  const lines = [heading, ...rows.map(({ cells }) => cells)]
  const widths = heading.map((_, column) =>
    Math.max(...lines.map((cells) => String(cells[column] ?? '').length)),
  )
  const [first = '', ...others] = lines.map((cells) =>
    widths
      .map((width, column) => {
        const text = String(cells[column] ?? '')
        return column === 0 ? text.padEnd(width) : text.padStart(width)
      })
      .join('  ')
      .trimEnd(),
  )
  return [first, '-'.repeat(WIDTH), ...others]
}

async function renderPage(heading: string, { title, conditions, ...shown }: Shown) {
  const [charts, script] = await Promise.all([
    readFile(CHART_JS, 'utf8'),
    readFile(LINE_PLOTS, 'utf8'),
  ])
  const paragraphs = (texts: readonly string[]) => texts.map((text) => `<p>${escape(text)}</p>`)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Atomic Payments: ${escape(title)}</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1.5rem; color: #1d2433 }
  table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; margin-top: 2rem }
  th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid #dde }
  th:first-child, td:first-child { text-align: left }
  .missed { color: #b00020; font-weight: 600 }
  .reached { color: #146c2e }
  #plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(30rem, 1fr)); gap: 1rem 2rem }
  #plots figure { height: 18rem; margin: 1rem 0 2rem; min-width: 0 }
  figcaption { font-weight: 600 }
</style>
<h1>${escape(title)}</h1>
${paragraphs([heading, conditions]).join('')}
<div id="plots"></div>
${shown.tables.flatMap((table) => [htmlOf(table), ...paragraphs(table.notes ?? [])]).join('\n')}
<script>${charts}</script>
<script>const shown = ${JSON.stringify({ plots: shown.plots }).replaceAll('<', '\\u003c')}</script>
<script>${script}</script>
</html>
`
}

function htmlOf({ heading, rows }: Table): string {
  const lines = rows.map((row) => htmlRow('td', row))
  return `<table>${htmlRow('th', { cells: heading })}${lines.join('')}</table>`
}

function htmlRow(cell: 'th' | 'td', { cells, mark }: TableRow): string {
  const texts = cells.map((text) => `<${cell}>${escape(String(text))}</${cell}>`)
  return `<tr class="${mark ?? ''}">${texts.join('')}</tr>`
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
