// Writes the report of the suite into `faults-report/`, which git ignores.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { renderPage } from './page.ts'
import type { Report } from './report.ts'

export const REPORT_FOLDER = fileURLToPath(new URL('../../../faults-report', import.meta.url))
/** For a soak that runs alone. */
export const SOAK_FOLDER = join(REPORT_FOLDER, 'soak')

/** Returns the paths of the files. */
export async function writeReport(
  report: Report,
  folder = REPORT_FOLDER,
): Promise<{ json: string; html: string }> {
  const [json, html] = [join(folder, 'report.json'), join(folder, 'report.html')]
  await mkdir(folder, { recursive: true })
  await writeFile(json, `${JSON.stringify(report, undefined, 1)}\n`)
  await writeFile(html, await renderPage(report))
  return { json, html }
}
