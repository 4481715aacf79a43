// Summarizes the measurements of a run as medians over the rounds and counts of unexpected answers, and shows
// them as a table and as plots.
import type { Plot, Table } from '../report.ts'
import { medianOf, rounded } from '../spread.ts'
import type { HotKey } from './load.ts'
import type { Row } from './rounds.ts'
import { showHotKey } from './hot-key.ts'
import { subjectNamed, subjects, type SubjectName } from './subjects.ts'

/** Returns a row for each subject, condition and concurrency, with the medians over the rounds. */
export function summarize(rows: readonly Row[]): Row[] {
  const groups = Map.groupBy(
    rows,
    ({ subject, condition, concurrency }) => `${subject} ${condition} ${concurrency}`,
  )
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const group = [first, ...others]
    const median = (figure: (row: Row) => number) => medianOf(group.map(figure))
    const hotKeys = group.flatMap(({ hotKey }) => hotKey ?? [])
    return {
      ...first,
      perSecond: median((row) => row.perSecond),
      latencyMs: {
        count: median((row) => row.latencyMs.count),
        median: median((row) => row.latencyMs.median),
        p95: median((row) => row.latencyMs.p95),
        p99: median((row) => row.latencyMs.p99),
        max: median((row) => row.latencyMs.max),
      },
      unexpected: group.reduce((sum, row) => sum + row.unexpected, 0),
      non2xx: group.reduce((sum, row) => sum + row.non2xx, 0),
      ...(hotKeys.length > 0 && { hotKey: summarizeHotKeys(hotKeys) }),
      nodeCpuMs: median((row) => row.nodeCpuMs),
      postgresCpuMs: median((row) => row.postgresCpuMs),
    }
  })
}

function summarizeHotKeys(all: readonly HotKey[]): HotKey {
  return {
    ownerMs: medianOf(all.map(({ ownerMs }) => ownerMs)),
    aloneMs: medianOf(all.map(({ aloneMs }) => aloneMs)),
    lockWaits: medianOf(all.map(({ lockWaits }) => lockWaits)),
    lockWaitsMost: Math.max(...all.map(({ lockWaitsMost }) => lockWaitsMost)),
  }
}

/** In the order of the subjects, then of the clients. */
export function tableOfRows(rows: readonly Row[]): Table {
  const summary = summarize(rows)
  const inOrder = subjects.flatMap(({ name }) =>
    summary
      .filter(({ subject }) => subject === name)
      .toSorted((one, other) => one.concurrency - other.concurrency),
  )
  return {
    heading: ['', 'clients', 'per s', 'p50 ms', 'p95 ms', 'p99 ms', 'CPU: Node', 'Postgres'],
    rows: inOrder.map((row) => {
      const { median, p95, p99 } = row.latencyMs
      const title = [
        subjectNamed(row.subject).title,
        ...(row.condition ? [row.condition] : []),
      ].join(', ')
      const cpu = [row.nodeCpuMs, row.postgresCpuMs]
      const perSecond = Math.round(row.perSecond)
      return { cells: [title, row.concurrency, perSecond, median, p95, p99, ...cpu] }
    }),
    notes: [
      'CPU: milliseconds of processor time per answer.',
      ...summary.flatMap(({ hotKey, condition = '' }) =>
        hotKey === undefined ? [] : `${showHotKey(hotKey)} ${condition}`.trim(),
      ),
      `unexpected answers: ${countUnexpected(rows)}`,
    ],
  }
}

const PLOTTED = {
  'per second': ({ perSecond }: Row) => perSecond,
  'p50, ms': ({ latencyMs }: Row) => latencyMs.median,
  'p99, ms': ({ latencyMs }: Row) => latencyMs.p99,
  'processor time of PostgreSQL, ms': ({ postgresCpuMs }: Row) => postgresCpuMs,
}

/** By the number of clients: a line for each subject, or for each condition of a subject. */
export function plotsOfRows(rows: readonly Row[]): Plot[] {
  const summary = summarize(rows)
  const groups = Map.groupBy(summary, ({ subject, condition }) =>
    condition === undefined ? 'All subjects' : subjectNamed(subject).title,
  )
  return [...groups].flatMap(([title, group]) => {
    const labels = [...new Set(group.map(({ concurrency }) => concurrency))].toSorted(
      (a, b) => a - b,
    )
    const lines = Map.groupBy(group, ({ subject, condition }) => condition ?? subject)
    return Object.entries(PLOTTED).map(([up, read]) => ({
      title: `${title}: ${up}`,
      labels,
      across: 'clients',
      up,
      lines: [...lines].map(([name, own]) => ({
        name,
        values: labels.map((label) => {
          const row = own.find(({ concurrency }) => concurrency === label)
          return row === undefined ? null : rounded(read(row))
        }),
      })),
    }))
  })
}

/** Subjects that create payments in the service. */
const PAYING_SUBJECTS: readonly SubjectName[] = [
  'accept',
  'accept_unwalled',
  'accept_unkeyed',
  'pay_wait',
  'pay_wait_unwalled',
  'mixed',
]

export function countUnexpected(rows: readonly Row[]): number {
  return rows.reduce((sum, { unexpected }) => sum + unexpected, 0)
}

/** Counts answers other than 2xx. With distinct keys no request may be rejected. */
export function countNon2xx(rows: readonly Row[]): number {
  const paying = rows.filter(({ subject }) => PAYING_SUBJECTS.includes(subject))
  return paying.reduce((sum, { non2xx }) => sum + non2xx, 0)
}
