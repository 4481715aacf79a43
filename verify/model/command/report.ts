// Renders the final report of a run as text.
import type { Verdict } from './task.ts'

/** The last line is `N passed, N failed`, which other programs parse. */
export function renderReport(verdicts: readonly Verdict[], seconds: number): string {
  const verdictLines = verdicts.map(({ passed, task, summary, details }) => {
    const line = `${passed ? 'passed' : 'FAILED'}  ${task}: ${summary}\n`
    return passed ? line : line + details.map((detail) => `    ${detail}\n`).join('')
  })
  const total = (count: (verdict: Verdict) => number) =>
    verdicts.reduce((sum, verdict) => sum + count(verdict), 0).toLocaleString('en')
  const passed = verdicts.filter((verdict) => verdict.passed).length
  return `${verdictLines.join('')}
${total(({ states }) => states)} states, ${total(({ transitions }) => transitions)} transitions checked in ${seconds.toFixed(0)} s

${passed} passed, ${verdicts.length - passed} failed
`
}
