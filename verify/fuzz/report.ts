// Renders the report of a run: its statistics, and each failure with the command that repeats it.
import { problemTypeOf } from './judge.ts'
import type { Case } from './draft.ts'
import type { Result } from './connection.ts'

type Counts = Map<string, number>

export class Statistics {
  readonly #operations: Counts = new Map()
  readonly #statuses: Counts = new Map()
  readonly #types: Counts = new Map()
  #sent = 0
  #slowestMs = 0

  get sent(): number {
    return this.#sent
  }

  count(one: Case, result: Result): void {
    this.#sent += 1
    add(this.#operations, one.operation ?? 'corpus')
    if (result instanceof Error) return add(this.#statuses, 'no answer')
    add(this.#statuses, String(result.status))
    add(this.#types, problemTypeOf(result) ?? 'no problem')
    if (one.slow !== true) this.#slowestMs = Math.max(this.#slowestMs, result.ms)
  }

  /** Renders the counts as text tables, most frequent first. */
  render(): string {
    return [
      table('operation', this.#operations),
      table('status', this.#statuses),
      table('problem', this.#types),
      `slowest answer: ${Math.round(this.#slowestMs)} ms\n`,
    ].join('\n')
  }
}

function add(counts: Counts, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

const COUNT_WIDTH = 9

function table(title: string, counts: Counts): string {
  const rows = [...counts].toSorted(([, one], [, other]) => other - one)
  const lines = rows.map(([name, count]) => `${String(count).padStart(COUNT_WIDTH)}  ${name}`)
  return [`${'requests'.padStart(COUNT_WIDTH)}  ${title}`, ...lines, ''].join('\n')
}

export interface Failure {
  readonly label: string
  readonly violations: readonly string[]
  /** The line that repeats it. Undefined if no single request caused the failure. */
  readonly line: string | undefined
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
