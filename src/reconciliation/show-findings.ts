// Findings as a table of plain text, for a terminal: what the two sides say, beside each other.
import type { Finding } from '../db/reconciliation/findings.ts'

type Evidence = Finding['ours']

interface Column {
  readonly title: string
  readonly width: number
  readonly cell: (finding: Finding) => string
}

/** With two spaces between them, 120 characters in all at most. */
const columns: readonly Column[] = [
  { title: 'DIFFERENCE', width: 16, cell: ({ kind }) => kind },
  { title: 'OBJECT', width: 32, cell: ({ objectId }) => objectId },
  { title: 'HERE', width: 32, cell: ({ ours }) => summarize(ours) },
  { title: 'THERE', width: 32, cell: ({ theirs }) => summarize(theirs) },
]

/** A line for each finding, under a line of titles. Amounts are in minor units. */
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

/** What is booked or captured counts, not what was asked for. */
function summarize(evidence: Evidence): string {
  if (evidence === null) return '-'
  const { status, kind, currency } = evidence
  const captured = evidence['amount_captured']
  const taken = captured === 0 ? undefined : captured
  const amount = evidence['booked'] ?? taken ?? evidence['amount']
  return [status ?? kind, amount, currency].filter((part) => isShown(part)).join(' ')
}

function isShown(part: unknown): boolean {
  return typeof part === 'number' || (typeof part === 'string' && part !== '')
}
