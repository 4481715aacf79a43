// Writes the report on copies of answers: the data as JSON, plots, and one table of medians over the
// rounds. Each plot is also an SVG for the document.
import { writeFile } from 'node:fs/promises'
import { showMachine, type Machine } from '../machine.ts'
import { renderPlots, table, type Plot } from '../page.ts'
import { cells, WIDTH, writeFiles, type ReportFiles } from '../report-files.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { rounded, spreadOf } from '../spread.ts'
import { renderSvg } from './svg.ts'

/** `none`: PostgreSQL answers. `alone`: Redis decides, without PostgreSQL. */
export type Layer = 'none' | 'memory' | 'redis' | 'alone'

export interface RedisRow {
  readonly layer: Layer
  readonly what: 'replay' | 'first' | 'hot key'
  /** The number of clients, or of requests with the same key at once. */
  readonly level: number
  readonly round: number
  readonly perSecond: number
  readonly p50Ms: number
  /** Processor time per request. */
  readonly postgresMs: number
  readonly redisMs: number
  readonly unexpected: number
}

export interface RedisReport {
  readonly at: string
  readonly options: BenchOptions
  readonly machine: Machine
  readonly unexpected: number
  readonly rows: readonly RedisRow[]
}

const NAMES: Record<Layer, string> = {
  none: 'PostgreSQL',
  memory: 'with memory',
  redis: 'with Redis',
  alone: 'Redis alone',
}
const TITLES: Record<RedisRow['what'], string> = {
  replay: 'Replays',
  first: 'First requests (202)',
  'hot key': 'One key at once',
}
const LEVELS: Record<RedisRow['what'], string> = {
  replay: 'clients',
  first: 'clients',
  'hot key': 'requests with the key at once',
}
type Figure = 'perSecond' | 'p50Ms' | 'postgresMs' | 'redisMs'
const UNITS = { perSecond: 'per second', p50Ms: 'p50, ms', postgresMs: 'ms of PostgreSQL each' }

const HEADING = ['', 'level', 'per second', 'p50 ms', 'PostgreSQL ms', 'Redis ms']
const COLUMNS = [40, 8, 13, 12, 16, 12]

/** The median over the rounds; null when it was not measured. */
function medianOf(
  rows: readonly RedisRow[],
  wanted: Pick<RedisRow, 'layer' | 'what' | 'level'>,
  figure: Figure,
): number | null {
  const own = rows.filter(
    ({ layer, what, level }) =>
      layer === wanted.layer && what === wanted.what && level === wanted.level,
  )
  return own.length === 0 ? null : rounded(spreadOf(own.map((row) => row[figure])).median)
}

export async function writeRedisReport(report: RedisReport): Promise<ReportFiles> {
  const plots = plotsOf(report.rows)
  const { machine, at, options, rows } = report
  const page = await renderPlots(
    {
      title: 'When does Redis help?',
      heading: `${showMachine(machine)}, ${at}; ${options.rounds} rounds of ${options.seconds} s each`,
      body: [
        '<div id="plots"></div>',
        table(
          HEADING,
          linesOf(rows).map((line) => ({ cells: line })),
        ),
      ],
    },
    plots.map(({ plot }) => plot),
  )
  const files = await writeFiles('redis', report, page)
  for (const { name, plot } of plots) {
    await writeFile(files.html.replace(/\.html$/, `-${name}.svg`), renderSvg(plot))
  }
  return files
}

export function showRedisReport(report: RedisReport): string {
  const line = '='.repeat(WIDTH)
  return [
    line,
    showMachine(report.machine),
    line,
    cells(COLUMNS, HEADING),
    '-'.repeat(WIDTH),
    ...linesOf(report.rows).map((texts) => cells(COLUMNS, texts)),
    `unexpected answers: ${report.unexpected}`,
    line,
    '',
  ].join('\n')
}

function linesOf(rows: readonly RedisRow[]): (string | number)[][] {
  const combinations = new Map(
    rows.map(({ what, level, layer }) => [`${what} ${level} ${layer}`, { what, level, layer }]),
  )
  return [...combinations.values()]
    .toSorted((one, other) => orderOf(one) - orderOf(other))
    .map((wanted) => [
      `${TITLES[wanted.what]}: ${NAMES[wanted.layer]}`,
      wanted.level,
      ...(['perSecond', 'p50Ms', 'postgresMs', 'redisMs'] as const).map(
        (figure) => medianOf(rows, wanted, figure) ?? '',
      ),
    ])
}

function orderOf({ what, level, layer }: Pick<RedisRow, 'what' | 'level' | 'layer'>): number {
  const whats = Object.keys(TITLES).indexOf(what)
  return whats * 1e6 + level * 10 + Object.keys(NAMES).indexOf(layer)
}

function plotsOf(rows: readonly RedisRow[]): { name: string; plot: Plot }[] {
  return (Object.keys(TITLES) as RedisRow['what'][]).flatMap((what) => {
    const own = rows.filter((row) => row.what === what)
    const levels = [...new Set(own.map(({ level }) => level))].toSorted((a, b) => a - b)
    const layers = (Object.keys(NAMES) as Layer[]).filter((layer) =>
      own.some((row) => row.layer === layer),
    )
    return (['perSecond', 'p50Ms', 'postgresMs'] as const).map((figure) => ({
      name: `${what.replace(' ', '-')}-${figure.toLowerCase()}`,
      plot: {
        title: `${TITLES[what]}: ${UNITS[figure]}`,
        labels: levels,
        across: LEVELS[what],
        up: UNITS[figure],
        lines: layers.map((layer) => ({
          name: NAMES[layer],
          values: levels.map((level) => medianOf(own, { layer, what, level }, figure)),
        })),
      },
    }))
  })
}
