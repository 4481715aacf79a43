// Says what a run has come to, for people: what failed, with the line that repeats it, and what was sent.
import type { Outcome } from './run.ts'

/** Longer ones repeat themselves. */
const COMPLAINT_MAX = 600

/** Ends with `N passed, N failed`. */
export function renderReport(
  { passed, failures, failed, statistics }: Outcome,
  seed: number,
): string {
  const told = failures.map(({ label, complaints, line }) => {
    const sentences = complaints.map((complaint) => `  - ${complaint.slice(0, COMPLAINT_MAX)}\n`)
    const again = line === undefined ? '' : `  again: npm run fuzz -- --case ${line}\n`
    return `FAILED ${label}\n${sentences.join('')}${again}\n`
  })
  return `${statistics.render()}
seed ${seed}

${told.join('')}${passed} passed, ${failed} failed
`
}
