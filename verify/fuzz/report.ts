// Renders the report of a run: its statistics, and each failure with the command that repeats it.
import { addCount, type Counts, countTable } from '../simulate/counts.ts'
import { problemTypeOf } from './judge.ts'
import type { Case } from './draft.ts'
import type { Result } from './connection.ts'

export class Statistics {
  readonly #operations: Counts = new Map()
  readonly #statuses: Counts = new Map()
  readonly #types: Counts = new Map()
  #slowestMs = 0
  sent = 0

  count(one: Case, result: Result): void {
    this.sent += 1
    addCount(this.#operations, one.operation ?? 'corpus')
    if (result instanceof Error) return addCount(this.#statuses, 'no answer')
    addCount(this.#statuses, String(result.status))
    addCount(this.#types, problemTypeOf(result) ?? 'no problem')
    if (one.slow !== true) this.#slowestMs = Math.max(this.#slowestMs, result.ms)
  }

  render(): string {
    return [
      countTable('requests', 'operation', this.#operations),
      countTable('requests', 'status', this.#statuses),
      countTable('requests', 'problem', this.#types),
      `slowest answer: ${Math.round(this.#slowestMs)} ms\n`,
    ].join('\n')
  }
}

export interface Failure {
  readonly label: string
  violations: readonly string[]
  /** The line that repeats it. Undefined if no single request caused the failure. */
  readonly line?: string | undefined
}

export interface Outcome {
  readonly passed: number
  /** Number of failures. `failures` contains only the first ones. */
  readonly failed: number
  readonly failures: readonly Failure[]
  readonly statistics: Statistics
}

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
