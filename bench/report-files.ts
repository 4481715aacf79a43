// Writes reports to the folder `bench-report`, which Git ignores, and formats their tables for a
// terminal.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../bench-report', import.meta.url))

/** The width of a table on a terminal. */
export const WIDTH = 110

export interface ReportFiles {
  readonly json: string
  readonly html: string
}

/** Writes `<name>.json` and `<name>.html` and returns their paths. */
export async function writeFiles(
  name: string,
  report: unknown,
  page: string,
): Promise<ReportFiles> {
  const [json, html] = [join(FOLDER, `${name}.json`), join(FOLDER, `${name}.html`)]
  await mkdir(FOLDER, { recursive: true })
  await writeFile(json, `${JSON.stringify(report, undefined, 2)}\n`)
  await writeFile(html, page)
  return { json, html }
}

/** Formats a line of a table: the first column is left-aligned, all others are right-aligned. */
export function cells(columns: readonly number[], texts: readonly (string | number)[]): string {
  return columns
    .map((width, column) => {
      const text = String(texts[column] ?? '')
      return column === 0 ? text.padEnd(width) : ` ${text}`.padStart(width)
    })
    .join('')
    .trimEnd()
}
