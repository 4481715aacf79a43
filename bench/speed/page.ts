// Renders the report of the speed as a page: the ratios, a chart of each kind of figure, and all
// figures.
import { fileURLToPath } from 'node:url'
import { renderPage as renderDocument, table } from '../page.ts'
import { headingOf } from './heading.ts'
import { showHotKey } from './hot-key.ts'
import { subjects } from './subjects.ts'
import { summarize, type Report } from './summary.ts'

const SCRIPT = fileURLToPath(new URL('page-script.js', import.meta.url))

export function renderPage(report: Report): Promise<string> {
  return renderDocument({
    title: 'Speed',
    heading: headingOf(report),
    body: [
      ratioTable(report),
      figure('throughput', 'Answers per second'),
      figure('latency', 'Latency with 16 clients, in ms'),
      figure('cpu', 'Processor time per answer with 16 clients, in ms'),
      rowTable(report),
      ...summarize(report.rows).flatMap(({ hotKey }) =>
        hotKey === undefined ? [] : `<p>${showHotKey(hotKey)}</p>`,
      ),
    ],
    shown: {
      subjects: subjects.map(({ name, title }) => ({ name, title })),
      rows: summarize(report.rows),
    },
    script: SCRIPT,
  })
}

function figure(id: string, caption: string): string {
  return `<figure><figcaption>${caption}</figcaption><canvas id="${id}"></canvas></figure>`
}

function ratioTable({ ratios, non_2xx }: Report): string {
  const rows = ratios.map(({ title, value, lowest, highest, bound, wanted, aim, reached }) => {
    const wish = wanted === null ? ['', ''] : [`${bound} ${wanted}`, aim ?? '']
    if (value === undefined) return { cells: [title, 'not measured', '', ...wish] }
    return {
      cells: [title, value, `${lowest} to ${highest}`, ...wish],
      mark: reached === undefined ? undefined : markOf(reached),
    }
  })
  const non2xxRow = {
    cells: ['answers other than 2xx under distinct keys', non_2xx, '', 'at most 0', 0],
    mark: markOf(non_2xx === 0),
  }
  return table(['ratio', 'median', 'over the rounds', 'bound', 'goal'], [...rows, non2xxRow])
}

function markOf(reached: boolean): 'reached' | 'missed' {
  return reached ? 'reached' : 'missed'
}

function rowTable({ rows }: Report): string {
  const titles = new Map<string, string>(subjects.map(({ name, title }) => [name, title]))
  const lines = summarize(rows).map((figures) => {
    const { median, p95, p99 } = figures.latencyMs
    const cpu = [figures.nodeCpuMs, figures.postgresCpuMs]
    const title = titles.get(figures.subject) ?? figures.subject
    return { cells: [title, figures.concurrency, figures.perSecond, median, p95, p99, ...cpu] }
  })
  const heading = ['', 'clients', 'per second', 'p50 ms', 'p95 ms', 'p99 ms', 'CPU ms: Node']
  return table([...heading, 'Postgres'], lines)
}
