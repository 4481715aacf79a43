// Renders Markdown tables and Mermaid diagrams.

/** One row per line. A `|` in a cell is escaped. */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const separator = `|${'---|'.repeat(header.length)}`
  return [renderRow(header), separator, ...rows.map(renderRow)].join('\n')
}

function renderRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`.replaceAll(
    '|  |',
    '| |',
  )
}

export const code = (text: string): string => `\`${text}\``

export interface Arrow {
  /** A state, or `[*]` for the time before the first and after the last one. */
  readonly from: string
  readonly to: string
  readonly label?: string
}

/** What ends a label, or starts a comment or an entity, in Mermaid's grammar. */
const NOT_IN_LABELS = /[:;#%\n]/

export function renderStateDiagram(arrows: readonly Arrow[]): string {
  return ['```mermaid', 'stateDiagram-v2', ...arrows.map(renderArrow), '```'].join('\n')
}

function renderArrow({ from, to, label }: Arrow): string {
  if (label === undefined) return `  ${from} --> ${to}`
  if (NOT_IN_LABELS.test(label)) throw new Error(`Mermaid cannot show the label ${label}`)
  return `  ${from} --> ${to}: ${label}`
}
