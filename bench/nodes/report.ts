// Writes the report on several processes: the data as JSON, a plot, and one table.
import { showMachine, type Machine } from '../machine.ts'
import { renderPlots, table } from '../page.ts'
import { cells, WIDTH, writeFiles, type ReportFiles } from '../report-files.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { connectionsAllowed, mediansOf, type NodesFigures, type NodesRow } from './figures.ts'

export interface NodesReport {
  readonly at: string
  readonly options: BenchOptions
  readonly machine: Machine
  /** Answers other than a completed payment. */
  readonly unexpected: number
  readonly rows: readonly NodesRow[]
}

const COLUMNS = [28, 9, 9, 9, 8, 9, 10, 10, 9, 9]
const HEADING = [
  'APIs and workers, each',
  'per s',
  'p50 ms',
  'busy',
  'CPU: API',
  'worker',
  'stand-in',
  'Postgres',
  'conns',
  'allowed',
]

export async function writeNodesReport(report: NodesReport): Promise<ReportFiles> {
  return await writeFiles('nodes', report, await renderNodesPage(report))
}

export function showNodesReport({ machine, rows, unexpected }: NodesReport): string {
  const line = '='.repeat(WIDTH)
  return [
    line,
    showMachine(machine),
    line,
    cells(COLUMNS, HEADING),
    '-'.repeat(WIDTH),
    ...mediansOf(rows).map((figures) => cells(COLUMNS, textsOf(figures))),
    'CPU: milliseconds of processor time per payment. busy: the share of all cores.',
    `unexpected answers: ${unexpected}`,
    line,
    '',
  ].join('\n')
}

function textsOf({ nodes, perSecond, medianMs, busy, ...figures }: NodesFigures) {
  const { apiCpuMs, workerCpuMs, providerCpuMs, postgresCpuMs, connections } = figures
  return [
    nodes,
    Math.round(perSecond),
    medianMs,
    `${Math.round(busy * 100)} %`,
    apiCpuMs,
    workerCpuMs,
    providerCpuMs,
    postgresCpuMs,
    connections,
    connectionsAllowed(nodes),
  ]
}

function renderNodesPage({ machine, at, options, rows }: NodesReport): Promise<string> {
  const medians = mediansOf(rows)
  return renderPlots(
    {
      title: 'More processes on one machine',
      heading: `${showMachine(machine)}, ${at}; ${options.rounds} rounds of ${options.seconds} s each`,
      body: [
        '<div id="plots"></div>',
        table(
          HEADING,
          medians.map((figures) => ({ cells: textsOf(figures) })),
        ),
      ],
    },
    [
      {
        title: 'Completed payments',
        labels: medians.map(({ nodes }) => nodes),
        across: 'APIs and workers, each',
        up: 'per second',
        lines: [{ name: 'payments', values: medians.map(({ perSecond }) => perSecond) }],
      },
    ],
  )
}
