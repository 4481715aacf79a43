// Renders the report as one self-contained page: crash matrices, mutants, recovery times, soak.
import { fileURLToPath } from 'node:url'
import { escape, renderPage as renderDocument, table, type TableRow } from '../../../bench/page.ts'
import { RETURN_LIMIT_MS } from '../bounds.ts'
import { RECOVERY_LIMIT_SECONDS } from '../merchant.ts'
import { isCaught, type MutantVerdict } from '../mutants/verdict.ts'
import { histogramOf } from './histogram.ts'
import { invariantNames } from './invariant-names.ts'
import { matricesOf, type Matrix } from './matrix.ts'
import { showComparison } from '../summary.ts'
import { recoveriesOf, type Report, type Tally } from './report.ts'

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const LINE_PLOTS = fileURLToPath(new URL('../../../bench/line-plots.js', import.meta.url))

export function renderPage(report: Report): Promise<string> {
  const matrices = matricesOf(report.results, report.counted)
  return renderDocument({
    title: 'Fault suite report',
    heading: headingOf(report),
    style: here('page.css'),
    body: [
      tiles(report),
      ...failuresOf(report),
      ...skippedOf(report),
      '<h2>Crash matrix</h2>',
      LEGEND,
      ...matrices.map(matrixFrame),
      '<h2>Mutants</h2>',
      mutantTable(report.mutants),
      '<h2>Recovery</h2>',
      RECOVERY,
      ...returnsOf(report),
      '<figure><figcaption>Runs by time from the last fault until the run had recovered</figcaption><canvas id="recovery"></canvas></figure>',
      faultTable(report.by_fault),
      '<h2>Providers</h2>',
      PROVIDERS,
      providerTable(report.by_provider),
      ...neighboursOf(report),
      '<h2>Scenarios</h2>',
      scenarioTable(report.by_scenario),
      ...(report.soak.length === 0 ? [] : ['<h2>Soak</h2>', '<div id="plots"></div>']),
      '<h2>The ten invariants</h2>',
      invariantList(report),
      '<div id="tip" role="status" hidden></div>',
    ],
    shown: {
      matrices,
      recovery: histogramOf(recoveriesOf(report.results)),
      plots: report.soak,
    },
    script: [here('page-script.js'), LINE_PLOTS],
  })
}

function headingOf({ commit, at, mode, seed, seconds, machine }: Report): string {
  const minutes = `${Math.floor(seconds / 60)} min ${String(Math.round(seconds % 60)).padStart(2, '0')} s`
  return `Commit ${commit}, ${at}, ${mode} suite with seed ${seed} in ${minutes} on ${machine}`
}

function tiles(report: Report): string {
  const caught = report.mutants.filter((mutant) => isCaught(mutant)).length
  const { median, max } = report.recovery_ms
  const shown: readonly [string, string, boolean][] = [
    ['points', count(report.points), true],
    ['runs', count(report.runs), true],
    ['runs that missed a later fault', count(report.missed), true],
    ['violations', count(report.violations), report.violations === 0],
    ['mutants caught', `${caught} of ${report.mutants.length}`, caught === report.mutants.length],
    ['median recovery', showMs(median), true],
    ['longest recovery', showMs(max), true],
  ]
  const all = shown.map(
    ([name, value, good]) =>
      `<div class="${good ? '' : 'missed'}"><b>${escape(value)}</b>${escape(name)}</div>`,
  )
  return `<div id="tiles">${all.join('')}</div>`
}

function count(number: number): string {
  return number.toLocaleString('en')
}

function showMs(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}

function failuresOf({ failures }: Report): string[] {
  if (failures.length === 0) return []
  const rows = failures.map(({ case: label, violations, missed }): TableRow => {
    const broken = violations.map(({ invariant, what }) => `${invariant}: ${what}`).join('; ')
    return { cells: [label, [missed, broken].filter(Boolean).join('; ')], mark: 'missed' }
  })
  return [
    '<h2>Failed runs</h2>',
    '<p>Repeat a run with <code>npm run faults -- --case</code> and its label, a soak with the options shown.</p>',
    `<div class="texts">${table(['run', 'what broke'], rows)}</div>`,
  ]
}

function skippedOf({ skipped }: Report): string[] {
  if (skipped.length === 0) return []
  const rows = skipped.map(({ case: label, why }): TableRow => ({ cells: [label, why] }))
  return [
    '<h2>Skipped runs</h2>',
    '<p>This machine cannot make these runs. They neither passed nor failed.</p>',
    `<div class="texts">${table(['run', 'why'], rows)}</div>`,
  ]
}

const LEGEND = `<p>Each row is a point: a moment between two messages. Each cell is a run with the column's fault injected
at that point. Hover over a cell to see its result; click it to copy the command that repeats the run.</p>
<p class="legend"><i class="passed fast"></i>all invariants held, recovered within 1 s
<i class="passed"></i>within 5 s <i class="passed slow"></i>later
<i class="violated"></i>an invariant broke <i class="missed-point"></i>failed: the fault was not injected
<i class="none"></i>not run</p>`

/** The script draws the matrix when it is opened, because there are thousands of cells. */
function matrixFrame({ scenario, points, cells }: Matrix, index: number): string {
  const failed = cells.filter(({ state }) => state !== 'passed').length
  const verdict = failed === 0 ? 'all passed' : `${failed} failed`
  const summary = `${scenario}: ${count(points.length)} points, ${count(cells.length)} runs, ${verdict}`
  const isOpen = index === 0 || failed > 0
  return `<details class="matrix" data-matrix="${index}"${isOpen ? ' open' : ''}><summary>${escape(summary)}</summary></details>`
}

function mutantTable(mutants: readonly MutantVerdict[]): string {
  if (mutants.length === 0) return '<p>No mutant was run.</p>'
  const rows = mutants.map((mutant): TableRow => {
    const { name, breaks, must_break: must, caught_by: caughtBy, case: label, what } = mutant
    const verdict = caughtBy === null ? 'SURVIVED' : `${caughtBy}: ${nameOf(caughtBy)}`
    const shown = label === null ? what : `${label}: ${cut(what)}`
    const expected = caughtBy === null ? `${verdict}; ${must} should have broken` : verdict
    return {
      cells: [name, breaks, expected, shown],
      mark: caughtBy === null ? 'missed' : undefined,
    }
  })
  const heading = ['mutant', 'defect', 'caught by invariant', 'in the run']
  return `<p>A mutant is the product with one rule removed. A mutant that survives is a failure of the suite.</p>
<div class="texts">${table(heading, rows)}</div>`
}

/** The whole text is in report.json. */
const TEXT_MAX = 130

function cut(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text
}

function nameOf(invariant: number): string {
  return invariantNames[invariant - 1] ?? ''
}

const RECOVERY = `<p>A run has recovered when every key has its final answer, or is unknown with an open finding. Most of the
time passes until the lease of a killed worker expires. A run that takes longer than
${RECOVERY_LIMIT_SECONDS} s fails.</p>`

function returnsOf({ return_ms: { count: times, median, max } }: Report): string[] {
  if (times === 0) return []
  const shown = `${count(times)} runs: median ${showMs(median)}, longest ${showMs(max)}`
  return [
    `<p>New payments must succeed within ${showMs(RETURN_LIMIT_MS)} of PostgreSQL accepting connections again. In ${shown}.</p>`,
  ]
}

function faultTable(byFault: Report['by_fault']): string {
  const rows = Object.entries(byFault).map(([name, tally]) => tallyRow([name], tally))
  return table(['fault', ...TALLY], rows)
}

function scenarioTable(byScenario: Report['by_scenario']): string {
  const rows = Object.entries(byScenario).map(([name, tally]) =>
    tallyRow([name, count(tally.points)], tally),
  )
  return table(['scenario', 'points', ...TALLY], rows)
}

const PROVIDERS = `<p>The kinds of provider: one that is idempotent, as Stripe is; one that forgets idempotency keys early; one
that keeps none; one that charges without an answer and reports wrong amounts. With the last three, every fault is injected at the provider calls of each operation.</p>`

function providerTable(byProvider: Report['by_provider']): string {
  const rows = Object.entries(byProvider).map(([name, tally]): TableRow => {
    const { runs, failed, broken } = tally
    const cells = [name, count(runs), showCounts(broken), count(failed)]
    return { cells, mark: failed === 0 ? undefined : 'missed' }
  })
  return table(PROVIDER_HEADING, rows)
}

const PROVIDER_HEADING = ['provider', 'runs', 'broken invariants', 'failed']

function neighboursOf({ results }: Report): string[] {
  const measured = results.filter(({ comparisons = [] }) => comparisons.length > 0)
  if (measured.length === 0) return []
  const rows = measured.map(({ scenario, comparisons = [], violations }): TableRow => {
    const mark = violations.length > 0 ? 'missed' : undefined
    return { cells: [scenario, comparisons.map(showComparison).join('; ')], mark }
  })
  return ['<h2>Neighbours</h2>', table(['noise of another tenant', 'what a tenant got'], rows)]
}

function showCounts(byInvariant: Readonly<Record<string, number>>): string {
  const shown = Object.entries(byInvariant).map(
    ([invariant, times]) => `${invariant} (${count(times)} runs)`,
  )
  return shown.length === 0 ? 'none' : shown.join(', ')
}

const TALLY = ['runs', 'missed', 'failed', 'violations', 'median', 'p95', 'longest']

function tallyRow(names: readonly string[], tally: Tally): TableRow {
  const { runs, missed, failed, violations, recovery_ms: recovery } = tally
  const times = [recovery.median, recovery.p95, recovery.max]
  const shown = recovery.count === 0 ? ['', '', ''] : times.map(showMs)
  return {
    cells: [...names, count(runs), count(missed), count(failed), count(violations), ...shown],
    mark: failed === 0 ? undefined : 'missed',
  }
}

function invariantList({ results }: Report): string {
  const broken = new Set(
    results.flatMap(({ violations }) => violations.map(({ invariant }) => invariant)),
  )
  const lines = invariantNames.map((name, index) => {
    const mark = broken.has(index + 1) ? ' class="missed"' : ''
    return `<li${mark}>${escape(name)}</li>`
  })
  return `<ol>${lines.join('')}</ol>`
}
