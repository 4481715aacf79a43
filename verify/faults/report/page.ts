// Renders the report as one page without scripts, and writes it beside report.json into
// `faults-report/`, which git ignores.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { escape, table, type TableRow } from '../../../bench/page.ts'
import { isCaught } from '../mutants/verdict.ts'
import { IDEMPOTENT } from '../providers.ts'
import { hasFailed, verdictOf, type RunResult } from '../results.ts'
import { showComparison } from '../summary.ts'
import type { Report, Tally } from './report.ts'

const REPORT_FOLDER = fileURLToPath(new URL('../../../faults-report', import.meta.url))

const STYLE = `
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; color: #1d2433 }
  table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
  th, td { padding: .2rem .6rem; text-align: left; vertical-align: top; overflow-wrap: anywhere }
  .missed { color: #b00020 }
  .matrix { font: 11px/13px ui-monospace, monospace }
  .matrix th, .matrix td { padding: 0 .2rem; border: 1px solid #fff; font-weight: 400; white-space: nowrap }
  .matrix thead th { writing-mode: vertical-rl; vertical-align: bottom }
  td.passed { background: #4db383 } td.missed { background: #f0b429 } td.failed { background: #c2304f }
`

/** Returns the paths of the files. */
export async function writeReport(
  report: Report,
  folder = REPORT_FOLDER,
): Promise<{ json: string; html: string }> {
  const [json, html] = [join(folder, 'report.json'), join(folder, 'report.html')]
  await mkdir(folder, { recursive: true })
  await writeFile(json, `${JSON.stringify(report, undefined, 1)}\n`)
  await writeFile(html, renderPage(report))
  return { json, html }
}

export function renderPage(report: Report): string {
  const { commit, at, mode, seed, seconds, machine, points, return_ms: back } = report
  const caught = report.mutants.filter((mutant) => isCaught(mutant)).length
  const { by_fault: byFault, by_scenario: byScenario, by_provider: byProvider } = report
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Atomic Payments: fault suite report</title>
<style>${STYLE}</style>
<h1>Fault suite report</h1>
<p>${escape(`Commit ${commit}, ${at}, ${mode} suite with seed ${seed} in ${seconds} s on ${machine}`)}</p>
<p>${points} points, ${report.runs} runs, ${report.missed} of which missed a later fault,
${report.violations} violations, ${caught} of ${report.mutants.length} mutants caught</p>
<p>New payments after ${back.count} outages of PostgreSQL: median ${show(back.median)}, longest ${show(back.max)}</p>
${[
  ...section('Failed runs', ['run', 'what broke'], report.failures.map(failureRow)),
  ...section('Skipped runs', ['run', 'why'], report.skipped.map(skippedRow)),
  ...section('Mutants', ['mutant', 'defect', 'caught by', 'in the run'], mutantRows(report)),
  ...section('Faults', ['fault', ...TALLY], Object.entries(byFault).map(tallyRow)),
  ...section('Scenarios', ['scenario', ...TALLY], Object.entries(byScenario).map(tallyRow)),
  ...section('Providers', ['provider', ...TALLY], Object.entries(byProvider).map(tallyRow)),
  ...section('Neighbours', ['noise of another tenant', 'what a tenant got'], neighbourRows(report)),
  '<h2>Crash matrix</h2>',
  '<p>A row for each point, a column for each fault. Hover over a cell to see its result.</p>',
  ...matricesOf(report),
].join('\n')}
</html>
`
}

function section(title: string, heading: readonly string[], rows: readonly TableRow[]): string[] {
  return rows.length === 0 ? [] : [`<h2>${title}</h2>`, table(heading, rows)]
}

function failureRow(run: RunResult): TableRow {
  return { cells: [run.case, describe(run)], mark: 'missed' }
}

function skippedRow({ case: label, skipped = '' }: RunResult): TableRow {
  return { cells: [label, skipped] }
}

function mutantRows({ mutants }: Report): TableRow[] {
  return mutants.map(({ name, breaks, must_break: must, caught_by: by, case: label, what }) => {
    const verdict = by === null ? `SURVIVED; ${must} should have broken` : `invariant ${by}`
    const cells = [name, breaks, verdict, `${label ?? ''} ${what}`]
    return { cells, mark: by === null ? 'missed' : undefined }
  })
}

function neighbourRows({ results }: Report): TableRow[] {
  return results.flatMap(({ scenario, comparisons = [] }) =>
    comparisons.map((one) => ({ cells: [scenario, showComparison(one)] })),
  )
}

const TALLY = ['runs', 'missed', 'failed', 'invariants broken', 'median', 'p95', 'longest']

function tallyRow([name, tally]: readonly [string, Tally]): TableRow {
  const { runs, missed, failed, broken, recovery_ms: recovery } = tally
  const shown = Object.entries(broken).map(([invariant, times]) => `${invariant} in ${times}`)
  const times = [recovery.median, recovery.p95, recovery.max].map(show)
  const cells = [name, runs, missed, failed, shown.join(', '), ...times]
  return { cells, mark: failed === 0 ? undefined : 'missed' }
}

function show(ms: number): string {
  return `${Math.round(ms)} ms`
}

function describe({ violations, struck, faults, recoveryMs, outcome }: RunResult): string {
  const broken = violations.map(({ invariant, what }) => `${invariant}: ${what}`)
  if (struck < faults.length) broken.push(`${struck} of ${faults.length} faults were injected`)
  if (broken.length > 0) return broken.join('; ')
  return `${recoveryMs === null ? 'not recovered' : `recovered in ${show(recoveryMs)}`}: ${outcome}`
}

/** One for each scenario and kind of provider, of the runs with one fault. */
function matricesOf({ results, counted }: Report): string[] {
  const single = results.filter(({ faults }) => faults.length === 1)
  const groups = Map.groupBy(single, ({ scenario, provider }) =>
    provider === IDEMPOTENT ? scenario : `${scenario}~${provider}`,
  )
  return [...groups].map(([name, runs]) => matrixOf(name, runs, counted[runs[0]?.scenario ?? '']))
}

function matrixOf(name: string, runs: readonly RunResult[], counted: readonly string[] = []) {
  const faults = [...new Set(runs.flatMap((run) => run.faults))]
  // Points that were not counted, for example those of a recovery, come last.
  const points = new Set([...counted, ...runs.flatMap((run) => run.points)])
  const byCell = Map.groupBy(runs, (run) => `${run.faults[0]}@${run.points[0]}`)
  const cell = (fault: string, point: string) => {
    const own = byCell.get(`${fault}@${point}`) ?? []
    // The worst of several runs.
    const run = own.find((one) => hasFailed(one)) ?? own[0]
    if (run === undefined) return '<td></td>'
    return `<td class="${verdictOf(run)}" title="${escape(describe(run))}"></td>`
  }
  const rows = [...points].map(
    (point) => `<tr><th>${escape(point)}</th>${faults.map((fault) => cell(fault, point)).join('')}`,
  )
  const heads = ['', ...faults].map((fault) => `<th>${escape(fault)}</th>`)
  const failed = runs.filter((run) => hasFailed(run)).length
  return `<details${failed > 0 ? ' open' : ''}>
<summary>${escape(name)}: ${points.size} points, ${runs.length} runs, ${failed} failed</summary>
<table class="matrix"><thead><tr>${heads.join('')}</tr></thead>${rows.join('\n')}</table></details>`
}
