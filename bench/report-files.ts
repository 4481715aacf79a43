// Where reports are written: one folder, which the repository does not keep.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../bench-report', import.meta.url))

/** How wide tables for a terminal are. */
export const WIDTH = 110

export interface Written {
  readonly json: string
  readonly html: string
}

/** Writes JSON and page under the name, and returns their paths. */
export async function writeFiles(name: string, report: unknown, page: string): Promise<Written> {
  const [json, html] = [join(FOLDER, `${name}.json`), join(FOLDER, `${name}.html`)]
  await mkdir(FOLDER, { recursive: true })
  await writeFile(json, `${JSON.stringify(report, undefined, 2)}\n`)
  await writeFile(html, page)
  return { json, html }
}

/** A line of a table for a terminal: the first column to the left, all others to the right. */
export function cells(columns: readonly number[], texts: readonly (string | number)[]): string {
  return columns
    .map((width, column) => {
      const text = String(texts[column] ?? '')
      return column === 0 ? text.padEnd(width) : ` ${text}`.padStart(width)
    })
    .join('')
    .trimEnd()
}
