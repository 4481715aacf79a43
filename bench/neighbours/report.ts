// Writes the report on a neighbour beside noise: the data as JSON, plots over the levels, and one
// table.
import { showMachine, type Machine } from '../machine.ts'
import { renderPlots, table, type Plot, type TableRow } from '../page.ts'
import { cells, WIDTH, writeFiles, type ReportFiles } from '../report-files.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { rounded } from '../spread.ts'
import { figures, type ComparedLevel, type NeighbourRow } from './compare.ts'
import { PAYMENTS_PER_SECOND } from './neighbour.ts'
import type { NoiseName } from './levels.ts'
import { noises, type Noise } from './noises.ts'

export interface NeighbourReport {
  readonly at: string
  readonly options: BenchOptions
  readonly machine: Machine
  /** The median of one call of the provider, measured without the service, in milliseconds. */
  readonly call_ms: Readonly<Record<NoiseName, number>>
  /** Guessed keys by the status of the answer. */
  readonly guesses: Readonly<Record<string, number>>
  readonly levels: readonly ComparedLevel[]
  readonly rows: readonly NeighbourRow[]
}

/** An authorization and a capture: no service of this kind can be faster. */
const CALLS_OF_PAYMENT = 2

export async function writeNeighbourReport(report: NeighbourReport): Promise<ReportFiles> {
  return await writeFiles('neighbours', report, await renderNeighbourPage(report))
}

const COLUMNS = [36, 9, 7, 9, 7, 9, 7, 9, 7, 10]
const HEADING = ['p50 ms', 'ratio', 'p95 ms', 'ratio']

export function showNeighbourReport(report: NeighbourReport): string {
  const line = '='.repeat(WIDTH)
  return [
    line,
    showMachine(report.machine),
    line,
    cells(COLUMNS, ['', 'payment', '', '', '', 'webhook']),
    cells(COLUMNS, ['', ...HEADING, ...HEADING]),
    ...noises.flatMap((noise) => [
      '-'.repeat(WIDTH),
      noise.title,
      ...rowsOf(report, noise).map((row) => cells(COLUMNS, row.cells)),
    ]),
    '-'.repeat(WIDTH),
    ...closing(report),
    line,
    '',
  ].join('\n')
}

function rowsOf({ levels, call_ms }: NeighbourReport, { name, unit }: Noise): TableRow[] {
  const own = levels.filter(({ noise }) => noise === name).toSorted((a, b) => a.level - b.level)
  return [
    { cells: ["  the provider's own time", rounded(CALLS_OF_PAYMENT * call_ms[name])] },
    ...own.map((compared) => {
      const times = timesOf(compared)
      const texts = times.flatMap(({ ms, ratio }) => [ms, ratio])
      const isMissed = times.some(({ reached }) => !reached)
      if (compared.level === 0) return { cells: ['  B alone', ...texts] }
      const title = `  ${compared.level.toLocaleString('en')} ${unit}`
      return {
        cells: [title, ...texts, isMissed ? 'MISSED' : ''],
        mark: isMissed ? ('missed' as const) : ('reached' as const),
      }
    }),
  ]
}

function timesOf({ payment, webhook }: ComparedLevel) {
  return [payment, webhook].flatMap((times) => figures.map((figure) => times[figure]))
}

function closing({ levels, guesses }: NeighbourReport): string[] {
  const sum = (count: (level: ComparedLevel) => number) =>
    levels.reduce((total, level) => total + count(level), 0)
  const answers = Object.entries(guesses).map(([status, count]) => `${count} with ${status}`)
  return [
    `B makes ${PAYMENTS_PER_SECOND} payments per second. A ratio divides by the time of B alone in the same round.`,
    'MISSED: a time is above twice the time alone plus one call of the provider.',
    `answers to guessed keys: ${answers.join(', ') || 'none'}`,
    `unexpected answers to B: ${sum(({ unexpected }) => unexpected)}`,
    `webhooks of B that did not arrive: ${sum(({ missing }) => missing)}`,
  ]
}

function renderNeighbourPage(report: NeighbourReport): Promise<string> {
  const { machine, at, options } = report
  return renderPlots(
    {
      title: 'A tenant beside a noisy one',
      heading: `${showMachine(machine)}, ${at}; ${options.rounds} rounds of ${options.seconds} s each`,
      body: [
        '<div id="plots"></div>',
        ...noises.map((noise) => {
          const heading = [noise.title, ...HEADING, ...HEADING.map((text) => `webhook ${text}`), '']
          return table(heading, rowsOf(report, noise))
        }),
        ...closing(report).map((text) => `<p>${text}</p>`),
      ],
    },
    noises.flatMap((noise) => [plotOf(report, noise, 'payment'), plotOf(report, noise, 'webhook')]),
  )
}

function plotOf(
  { levels, call_ms }: NeighbourReport,
  { name, title, unit }: Noise,
  what: 'payment' | 'webhook',
): Plot {
  const own = levels.filter(({ noise }) => noise === name).toSorted((a, b) => a.level - b.level)
  const times = own.map((level) => level[what])
  const provider = rounded(CALLS_OF_PAYMENT * call_ms[name])
  return {
    title: `B's ${what}: ${title}`,
    labels: own.map(({ level }) => level.toLocaleString('en')),
    across: unit,
    up: 'ms',
    lines: [
      { name: 'p50', values: times.map(({ median }) => median.ms) },
      { name: 'p95', values: times.map(({ p95 }) => p95.ms) },
      { name: 'p95 allowed', values: times.map(({ p95 }) => p95.allowedMs) },
      { name: "the provider's own time", values: times.map(() => provider) },
    ],
  }
}
