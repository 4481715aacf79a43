// The report: everything as JSON, and one table for people, at most 110 columns wide.
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BenchOptions } from './arguments.ts'
import { requestKinds, type Latency } from './latency.ts'
import { shapeOf, type Plan } from '../plans.ts'
import { showBytes } from '../room.ts'
import type { Spread } from '../spread.ts'
import type { Times } from './ticks.ts'

export interface Report {
  readonly options: BenchOptions
  readonly postgres: string
  readonly seedSeconds: number
  readonly databaseBytes: number
  readonly plans: readonly Plan[]
  readonly ticks: readonly Times[]
  readonly latency: Latency
}

const FOLDER = fileURLToPath(new URL('../../bench-report', import.meta.url))
const WIDTH = 110

/** "Single-digit milliseconds", for 95 batches of 100: on a shared machine the rest is others' work. */
const BATCH_LIMIT_MS = 10
const RATIO_LIMIT = 1.5

/** Writes the report, and returns the path of its file. */
export async function writeReport(report: Report): Promise<string> {
  const file = join(FOLDER, 'maintenance.json')
  const cores = cpus()
  const machine = { cpu: cores[0]?.model, cores: cores.length, memoryBytes: totalmem() }
  const all = { at: new Date().toISOString(), node: process.version, machine, ...report }
  await mkdir(FOLDER, { recursive: true })
  await writeFile(file, `${JSON.stringify(all, undefined, 2)}\n`)
  return file
}

/** The plans for people: each statement's first one, and the later one when it differs. */
export function showPlans(plans: readonly Plan[]): string {
  const shown: string[] = []
  const shapes = new Map<string, string>()
  for (const plan of plans) {
    const name = `${plan.of}: ${plan.statement}`
    const shape = `${shapeOf(plan)}\n\n`
    if (shapes.get(name)?.includes(shape) === true) continue
    shapes.set(name, `${shapes.get(name) ?? ''}${shape}`)
    const scans =
      plan.wrongly.length === 0 ? '' : `  READS FROM END TO END: ${plan.wrongly.join(', ')}`
    const heading = `${name}, planned ${plan.planned}${scans}`
    shown.push(heading, '-'.repeat(Math.min(heading.length, WIDTH)), ...cut(plan.text), '')
  }
  return `${shown.join('\n')}\n`
}

function cut(text: string): string[] {
  return text
    .split('\n')
    .map((line) => (line.length > WIDTH ? `${line.slice(0, WIDTH - 1)}…` : line))
}

export function showReport(report: Report): string {
  const { options, postgres, seedSeconds, databaseBytes } = report
  const seeded =
    `${showCount(options.keys)} completed keys, ${showBytes(databaseBytes)}, ` +
    `seeded in ${Math.round(seedSeconds)} s, PostgreSQL ${postgres}, ${cpus().length} cores`
  const rows = [
    ...section(`Plans: reads of a large table from end to end`),
    ...planRows(report.plans),
    ...section(`Batches, in ms; bound: p95 below ${BATCH_LIMIT_MS}`),
    row(['', 'each', 'batches', 'median', 'p95', 'max', 'verdict']),
    ...report.ticks.map(tickRow),
    ...section(`API at ${showRate(options)}, in ms; bound: p99 within ${RATIO_LIMIT} x of without`),
    row(['', '', 'requests', 'p50', 'p95', 'p99', 'verdict']),
    ...latencyRows(report.latency),
  ]
  const line = '='.repeat(WIDTH)
  return [line, seeded, line, ...rows, line, ''].join('\n')
}

function section(title: string): string[] {
  return ['', title, '-'.repeat(WIDTH)]
}

const COLUMNS = [38, 10, 10, 10, 10, 10, 22]

function row(cells: readonly (string | number)[]): string {
  return COLUMNS.map((width, column) => {
    const cell = String(cells[column] ?? '')
    if (column === 0) return cell.padEnd(width)
    if (column === COLUMNS.length - 1) return `  ${cell}`
    return cell.padStart(width)
  })
    .join('')
    .trimEnd()
}

function planRows(plans: readonly Plan[]): string[] {
  const scans = plans.filter(({ wrongly }) => wrongly.length > 0)
  if (scans.length === 0) return [`none in ${plans.length} plans`]
  return scans.map(
    ({ statement, planned, wrongly }) => `${statement}, planned ${planned}: ${wrongly.join(', ')}`,
  )
}

function tickRow({ what, each, count, median, p95, max }: Times): string {
  const verdict = p95 < BATCH_LIMIT_MS ? 'holds' : 'DOES NOT HOLD'
  return row([what, each, count, median, p95, max, verdict])
}

function latencyRows(latency: Latency): string[] {
  return requestKinds.flatMap((kind) => {
    const { without, reaping, ratio, noise } = latency[kind]
    const verdict = `${ratio} x, ${ratio <= RATIO_LIMIT ? 'holds' : 'DOES NOT HOLD'}`
    return [
      row([`${kind}, not reaping`, '', ...spreadCells(without), `rounds differ ${noise} x`]),
      row([`${kind}, reaping ${showPace(latency)}`, '', ...spreadCells(reaping), verdict]),
    ]
  })
}

function spreadCells({ count, median, p95, p99 }: Spread): number[] {
  return [count, median, p95, p99]
}

/** What the reaper got done beside the load; less than its all when it ran out of keys. */
function showPace({ rounds }: Latency): string {
  const reports = rounds.flatMap(({ reaped }) => (reaped === null ? [] : [reaped]))
  const keys = reports.reduce((sum, { reaped }) => sum + reaped, 0)
  const starved = reports.some(({ emptyRounds }) => emptyRounds > 0) ? ', ran out' : ''
  return `${showCount(keys)} keys${starved}`
}

function showRate({ rate }: BenchOptions): string {
  return rate === 0 ? 'full speed of 8 clients' : `${rate} requests/s from 8 clients`
}

export function showCount(count: number): string {
  return count.toLocaleString('en')
}
