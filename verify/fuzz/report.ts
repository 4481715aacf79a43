// Renders the report of a run: its statistics, and each failure with the command that repeats it.
import type { Outcome } from './run.ts'

/** Longer violations are cut: they repeat themselves. */
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
    const again = line === undefined ? '' : `  repeat: npm run fuzz -- --case ${line}\n`
    return `FAILED ${label}\n${sentences.join('')}${again}\n`
  })
  return `${statistics.render()}
seed ${seed}

${failureTexts.join('')}${passed} passed, ${failed} failed
`
}
