// The report on slow clients: everything as JSON, plots over the rounds, and one table.
import { showMachine, type Machine } from '../machine.ts'
import { renderPlots, table, type Plot } from '../page.ts'
import { cells, WIDTH, writeFiles, type Written } from '../report-files.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { subjects } from '../speed/subjects.ts'
import type { ComparedFigure, SlowRow } from './compare.ts'

export interface SlowReport {
  readonly at: string
  readonly options: BenchOptions
  readonly machine: Machine
  /** Answers of another status than the expected one, to healthy clients. */
  readonly unexpected: number
  /** How many slow clients were connected beside the measured ones, on average and at the worst moment. */
  readonly held_mean: number
  readonly held_min: number
  /** How many of them the service has closed. */
  readonly closed: number
  readonly figures: readonly ComparedFigure[]
  readonly rows: readonly SlowRow[]
}

/** With fewer, it was not they that were measured. */
const HELD_SHARE_MIN = 0.9

export async function writeSlowReport(report: SlowReport): Promise<Written> {
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
const HEADING = ['16 clients, ms', 'without', 'beside', 'ratio', 'lowest', 'highest', 'wanted', '']

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

function closing({ options, closed, unexpected, ...held }: SlowReport): string[] {
  const isHeld = held.held_mean >= HELD_SHARE_MIN * options.sockets
  return [
    `slow clients: ${options.sockets}, of whom ${held.held_mean} were connected on average, and ${held.held_min} at the worst moment` +
      (isHeld ? '' : ': TOO FEW, the ratios say nothing'),
    `of theirs the service has closed ${closed} connections, each of which was opened again`,
    `answers to healthy clients that were not the expected one: ${unexpected}`,
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
      title: 'Beside slow clients',
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
        { name: 'beside them', values: valuesOf(true) },
      ],
    }
  })
}
