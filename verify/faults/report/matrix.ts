// The crash matrix of a scenario with a kind of provider: a row for each point, a column for each
// fault, a cell for each run with one fault.
import { IDEMPOTENT } from '../providers.ts'
import { hasPassed, type RunResult } from '../results.ts'

/** `missed`: nothing broke, but the fault was not injected, so the run proves nothing. */
type CellState = 'passed' | 'missed' | 'violated'

interface Cell {
  /** The indices of the point and the fault. */
  readonly point: number
  readonly fault: number
  readonly state: CellState
  readonly recoveryMs: number | null
  /** Shown below its label. */
  readonly detail: string
}

export interface Matrix {
  readonly scenario: string
  readonly points: readonly string[]
  readonly faults: readonly string[]
  readonly cells: readonly Cell[]
}

export function matricesOf(
  runs: readonly RunResult[],
  counted: Readonly<Record<string, readonly string[]>>,
): Matrix[] {
  const single = runs.filter(({ faults }) => faults.length === 1)
  return [...Map.groupBy(single, nameOf)].map(([name, own]) =>
    matrixOf(name, own, counted[own[0]?.scenario ?? ''] ?? []),
  )
}

/** The beginning of the labels. */
function nameOf({ scenario, provider }: RunResult): string {
  return provider === IDEMPOTENT ? scenario : `${scenario}~${provider}`
}

function matrixOf(
  scenario: string,
  runs: readonly RunResult[],
  counted: readonly string[],
): Matrix {
  // Points that were not counted, for example those of a recovery, come last.
  const points = [...new Set([...counted, ...runs.flatMap((run) => run.points)])]
  const faults = [...new Set(runs.flatMap((run) => run.faults))]
  const cells = runs.map((run) => ({
    point: points.indexOf(run.points[0] ?? ''),
    fault: faults.indexOf(run.faults[0] ?? ''),
    state: stateOf(run),
    recoveryMs: run.recoveryMs,
    detail: describe(run),
  }))
  return { scenario, points, faults, cells: worstLast(cells) }
}

const STATES: readonly CellState[] = ['passed', 'missed', 'violated']

/** The page shows the last run of a cell, so the worst one comes last. */
function worstLast(cells: readonly Cell[]): Cell[] {
  return cells.toSorted((one, other) => STATES.indexOf(one.state) - STATES.indexOf(other.state))
}

function stateOf(run: RunResult): CellState {
  if (run.violations.length > 0) return 'violated'
  return hasPassed(run) ? 'passed' : 'missed'
}

function describe({ violations, outcome, struck, faults }: RunResult): string {
  if (violations.length > 0) {
    return violations.map(({ invariant, what }) => `invariant ${invariant}: ${what}`).join('; ')
  }
  return struck === faults.length ? outcome : `the fault was not injected; ${outcome}`
}
