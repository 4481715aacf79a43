// Says what a run has come to, for people.
import type { Verdict } from './task.ts'

/** Ends with `N passed, N failed`. */
export function renderReport(verdicts: readonly Verdict[], seconds: number): string {
  const told = verdicts.map(({ passed, task, said, details }) => {
    const line = `${passed ? 'passed' : 'FAILED'}  ${task}: ${said}\n`
    return passed ? line : line + details.map((detail) => `    ${detail}\n`).join('')
  })
  const sum = (count: (verdict: Verdict) => number) =>
    verdicts.reduce((total, verdict) => total + count(verdict), 0).toLocaleString('en')
  const passed = verdicts.filter((verdict) => verdict.passed).length
  return `${told.join('')}
${sum(({ states }) => states)} states, ${sum(({ moves }) => moves)} moves checked in ${seconds.toFixed(0)} s

${passed} passed, ${verdicts.length - passed} failed
`
}
