// The report as one page that needs nothing beside it: Chart.js, which draws, is put into it.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { subjects } from './subjects.ts'
import { summarize, type Report } from './summary.ts'

/** The build for a page lies beside the one that is exported. */
const CHART_JS = fileURLToPath(new URL('chart.umd.min.js', import.meta.resolve('chart.js')))
const SCRIPT = fileURLToPath(new URL('page-script.js', import.meta.url))

export async function renderPage(report: Report): Promise<string> {
  const shown = {
    subjects: subjects.map(({ name, title }) => ({ name, title })),
    rows: summarize(report.rows),
  }
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Atomic Payments: how fast it is</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #1d2433 }
  table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
  th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid #dde }
  th:first-child, td:first-child { text-align: left }
  .missed { color: #b00020; font-weight: 600 }
  .reached { color: #146c2e }
  figure { margin: 2rem 0; height: 24rem }
  figcaption { font-weight: 600 }
</style>
<h1>How fast it is</h1>
<p>${escape(headingOf(report))}</p>
${ratioTable(report)}
<figure><figcaption>Answers per second</figcaption><canvas id="throughput"></canvas></figure>
<figure><figcaption>Latency with 16 clients, in ms</figcaption><canvas id="latency"></canvas></figure>
<figure><figcaption>Processor time of an answer with 16 clients, in ms</figcaption><canvas id="cpu"></canvas></figure>
${rowTable(report)}
<script>${await readFile(CHART_JS, 'utf8')}</script>
<script>const shown = ${JSON.stringify(shown).replaceAll('<', '\\u003c')}</script>
<script>${await readFile(SCRIPT, 'utf8')}</script>
</html>
`
}

function headingOf({ at, machine, options }: Report): string {
  const { cores, cpu, postgres, node, commit } = machine
  return (
    `${cores} × ${cpu}, PostgreSQL ${postgres}, Node ${node}, commit ${commit}, ${at}; ` +
    `${options.rounds} rounds of ${options.seconds} s each, fsync on, load on the same machine`
  )
}

function ratioTable({ ratios }: Report): string {
  const rows = ratios.map(({ title, value, lowest, highest, bound, wanted, aim, reached }) => {
    const mark = reached === undefined ? '' : reached ? 'reached' : 'missed'
    const is = value === undefined ? 'not measured' : String(value)
    return row('td', [title, is, `${lowest} to ${highest}`, `${bound} ${wanted}`, `${aim}`], mark)
  })
  const heading = row('th', ['ratio', 'is', 'over the rounds', 'wanted', 'aim'])
  return `<table>${heading}${rows.join('')}</table>`
}

function rowTable({ rows }: Report): string {
  const titles = new Map<string, string>(subjects.map(({ name, title }) => [name, title]))
  const lines = summarize(rows).map((figures) => {
    const { median, p95, p99 } = figures.latencyMs
    const cpu = [figures.nodeCpuMs, figures.postgresCpuMs]
    const title = titles.get(figures.subject) ?? figures.subject
    return row(
      'td',
      [title, figures.concurrency, figures.perSecond, median, p95, p99, ...cpu].map(String),
    )
  })
  const heading = [
    '',
    'clients',
    'per second',
    'p50 ms',
    'p95 ms',
    'p99 ms',
    'CPU ms: Node',
    'Postgres',
  ]
  return `<table>${row('th', heading)}${lines.join('')}</table>`
}

function row(cell: 'th' | 'td', texts: readonly string[], mark = ''): string {
  return `<tr class="${mark}">${texts.map((text) => `<${cell}>${escape(text)}</${cell}>`).join('')}</tr>`
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
