// Renders findings as a plain-text table for a terminal, with both sides next to each other.
import type { Finding } from '../db/reconciliation/findings.ts'

type Evidence = Finding['ours']

interface Column {
  readonly title: string
  readonly width: number
  readonly cell: (finding: Finding) => string
}

/** At most 120 characters in total, including two spaces between columns. */
const columns: readonly Column[] = [
  { title: 'DIFFERENCE', width: 16, cell: ({ kind }) => kind },
  { title: 'OBJECT', width: 32, cell: ({ objectId }) => objectId },
  { title: 'HERE', width: 32, cell: ({ ours }) => summarize(ours) },
  { title: 'THERE', width: 32, cell: ({ theirs }) => summarize(theirs) },
]

/** A line of titles, then one line per finding. Amounts are in minor units. */
export function showFindings(findings: readonly Finding[]): string {
  const titles = columns.map(({ title, width }) => fit(title, width))
  const rows = findings.map((finding) =>
    columns.map(({ cell, width }) => fit(cell(finding), width)),
  )
  return [titles, ...rows].map((cells) => `${cells.join('  ').trimEnd()}\n`).join('')
}

function fit(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width)
}

/** Shows the posted or captured amount if there is one, not the requested amount. */
function summarize(evidence: Evidence): string {
  if (evidence === null) return '-'
  const { status, kind, currency } = evidence
  const captured = evidence['amount_captured'] === 0 ? undefined : evidence['amount_captured']
  const amount = evidence['booked'] ?? captured ?? evidence['amount']
  return [status ?? kind, amount, currency].filter((part) => isShown(part)).join(' ')
}

function isShown(part: unknown): boolean {
  return typeof part === 'number' || (typeof part === 'string' && part !== '')
}
