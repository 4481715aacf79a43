// Writes the report on slow clients: the data as JSON, plots over the rounds, and one table.
import { showMachine, type Machine } from '../machine.ts'
import { renderPlots, table, type Plot } from '../page.ts'
import { cells, WIDTH, writeFiles, type ReportFiles } from '../report-files.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { subjects } from '../speed/subjects.ts'
import type { ComparedFigure, SlowRow } from './compare.ts'

export interface SlowReport {
  readonly at: string
  readonly options: BenchOptions
  readonly machine: Machine
  /** Answers to healthy clients with an unexpected status. */
  readonly unexpected: number
  /** Connected slow clients during the measurements: the mean and the minimum. */
  readonly held_mean: number
  readonly held_min: number
  /** Connections of slow clients that the service closed. */
  readonly closed: number
  readonly figures: readonly ComparedFigure[]
  readonly rows: readonly SlowRow[]
}

/** With a smaller share connected, the ratios do not show the effect of slow clients. */
const CONNECTED_SHARE_MIN = 0.9

export async function writeSlowReport(report: SlowReport): Promise<ReportFiles> {
  return await writeFiles('slow-clients', report, await renderSlowPage(report))
}

export function showSlowReport(report: SlowReport): string {
  const line = '='.repeat(WIDTH)
  return [
    line,
    showMachine(report.machine),
    line,
    cells(COLUMNS, HEADING),
    '-'.repeat(WIDTH),
    ...report.figures.map((figure) => cells(COLUMNS, textsOf(figure))),
    ...closing(report),
    line,
    '',
  ].join('\n')
}

const COLUMNS = [53, 9, 9, 8, 8, 8, 8, 7]
const HEADING = ['16 clients, ms', 'without', 'with', 'ratio', 'lowest', 'highest', 'bound', '']

function textsOf({ subject, figure, reached, wanted, ...ms }: ComparedFigure): (string | number)[] {
  const title = subjects.find(({ name }) => name === subject)?.title ?? subject
  return [
    `${title}: ${figure === 'cpu' ? 'processor time' : figure}`,
    ms.without,
    ms.beside,
    ms.ratio,
    ms.lowest,
    ms.highest,
    wanted === undefined ? '' : `<= ${wanted}`,
    reached === false ? 'MISSED' : '',
  ]
}

function closing({ options, closed, unexpected, ...connected }: SlowReport): string[] {
  const isEnough = connected.held_mean >= CONNECTED_SHARE_MIN * options.sockets
  return [
    `slow clients: ${options.sockets}; connected: ${connected.held_mean} on average, ${connected.held_min} at the minimum` +
      (isEnough ? '' : ': TOO FEW, the ratios say nothing'),
    `the service closed ${closed} connections of slow clients, each of which was opened again`,
    `unexpected answers to healthy clients: ${unexpected}`,
  ]
}

function renderSlowPage(report: SlowReport): Promise<string> {
  const { machine, at, options } = report
  const rows = report.figures.map((figure) => ({
    cells: textsOf(figure),
    ...(figure.reached === undefined
      ? {}
      : { mark: figure.reached ? ('reached' as const) : ('missed' as const) }),
  }))
  return renderPlots(
    {
      title: 'Healthy clients beside slow ones',
      heading: `${showMachine(machine)}, ${at}; ${options.rounds} rounds of ${options.seconds} s each`,
      body: [
        '<div id="plots"></div>',
        table(HEADING, rows),
        ...closing(report).map((text) => `<p>${text}</p>`),
      ],
    },
    plotsOf(report),
  )
}

function plotsOf({ rows }: SlowReport): Plot[] {
  const rounds = [...new Set(rows.map(({ round }) => round))]
  return [...Map.groupBy(rows, ({ subject }) => subject)].map(([subject, own]) => {
    const valuesOf = (isBeside: boolean) =>
      rounds.map(
        (round) =>
          own.find((row) => row.round === round && row.slowClients > 0 === isBeside)?.latencyMs
            .p99 ?? null,
      )
    return {
      title: `p99 of ${subject}`,
      labels: rounds,
      across: 'round',
      up: 'ms',
      lines: [
        { name: 'without slow clients', values: valuesOf(false) },
        { name: 'with slow clients', values: valuesOf(true) },
      ],
    }
  })
}
