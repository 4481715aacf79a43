// Renders a report as one self-contained HTML page, with Chart.js embedded.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** The browser build is in the same folder as the exported one. */
const CHART_JS = fileURLToPath(new URL('chart.umd.min.js', import.meta.resolve('chart.js')))
const LINE_PLOTS = fileURLToPath(new URL('line-plots.js', import.meta.url))

export interface Page {
  readonly title: string
  readonly heading: string
  /** HTML fragments. */
  readonly body: readonly string[]
  /** The data that the script reads as the global `shown`. */
  readonly shown: unknown
  /** The paths of the scripts that draw the charts, in the order in which they run. */
  readonly script: string | readonly string[]
  /** The path of a style sheet that is added to the common style. */
  readonly style?: string
}

/** A line plot, drawn in the element `plots`. */
export interface Plot {
  readonly title: string
  readonly labels: readonly (string | number)[]
  /** The titles of the horizontal and the vertical axis. */
  readonly across: string
  readonly up: string
  readonly lines: readonly { readonly name: string; readonly values: readonly (number | null)[] }[]
}

/** Renders a page with line plots. */
export function renderPlots(
  page: Omit<Page, 'shown' | 'script'>,
  plots: readonly Plot[],
): Promise<string> {
  return renderPage({ ...page, shown: { plots }, script: LINE_PLOTS })
}

export async function renderPage(page: Page): Promise<string> {
  const style = page.style === undefined ? '' : await readFile(page.style, 'utf8')
  const scripts = await Promise.all([page.script].flat().map((file) => readFile(file, 'utf8')))
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Atomic Payments: ${escape(page.title)}</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1.5rem; color: #1d2433 }
  h2 { margin-top: 2.5rem; font-size: 1.15rem }
  table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
  th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid #dde }
  th:first-child, td:first-child { text-align: left }
  .missed { color: #b00020; font-weight: 600 }
  .reached { color: #146c2e }
  figure { margin: 2rem 0 3.5rem; height: 26rem }
  #plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(30rem, 1fr)); gap: 1rem 2rem }
  #plots figure { height: 18rem; margin: 1rem 0 2rem; min-width: 0 }
  figcaption { font-weight: 600 }
${style}</style>
<h1>${escape(page.title)}</h1>
<p>${escape(page.heading)}</p>
${page.body.join('\n')}
<script>${await readFile(CHART_JS, 'utf8')}</script>
<script>const shown = ${JSON.stringify(page.shown).replaceAll('<', '\\u003c')}</script>
${scripts.map((script) => `<script>${script}</script>`).join('\n')}
</html>
`
}

export interface TableRow {
  readonly cells: readonly (string | number)[]
  /** The CSS class of the row: a target that was reached or missed. */
  readonly mark?: 'reached' | 'missed' | undefined
}

export function table(heading: readonly string[], rows: readonly TableRow[]): string {
  const lines = rows.map(({ cells, mark }) => tableRow('td', cells, mark))
  return `<table>${tableRow('th', heading)}${lines.join('')}</table>`
}

function tableRow(cell: 'th' | 'td', texts: TableRow['cells'], mark = ''): string {
  const cells = texts.map((text) => `<${cell}>${escape(String(text))}</${cell}>`)
  return `<tr class="${mark}">${cells.join('')}</tr>`
}

export function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
