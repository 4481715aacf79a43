// Says what a run has come to, for people: what failed, with the line that repeats it, and what was sent.
import type { Outcome } from './run.ts'

/** Longer ones repeat themselves. */
const VIOLATION_LENGTH_MAX = 600

/** Ends with `N passed, N failed`. */
export function renderReport(
  { passed, failures, failed, statistics }: Outcome,
  seed: number,
): string {
  const failureTexts = failures.map(({ label, violations, line }) => {
    const sentences = violations.map(
      (violation) => `  - ${violation.slice(0, VIOLATION_LENGTH_MAX)}\n`,
    )
    const again = line === undefined ? '' : `  again: npm run fuzz -- --case ${line}\n`
    return `FAILED ${label}\n${sentences.join('')}${again}\n`
  })
  return `${statistics.render()}
seed ${seed}

${failureTexts.join('')}${passed} passed, ${failed} failed
`
}
