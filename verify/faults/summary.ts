// Renders the summary that is printed at the end: runs and recovery times by fault, and all
// failures.
import { cells } from '../../bench/report-files.ts'
import { RETURN_LIMIT_MS } from './bounds.ts'
import { isCaught, type MutantVerdict } from './mutants/verdict.ts'
import { IDEMPOTENT } from './providers.ts'
import { hasFailed, isMissed, isSkipped, type Comparison, type RunResult } from './results.ts'

const COLUMNS = [52, 8, 8, 8, 14, 14]

/** The last line, `N passed, N failed`, is parsed by the gate. */
export function renderSummary(
  all: readonly RunResult[],
  verdicts: readonly MutantVerdict[],
): string {
  const results = all.filter((result) => !isSkipped(result))
  const skipped = all.filter((result) => isSkipped(result))
  const byFault = Map.groupBy(results, nameFaults)
  const rows = [...byFault].map(([fault, own]) => {
    const times = recoveryTimes(own)
    const failed = own.filter((result) => hasFailed(result)).length
    const missed = own.filter((result) => isMissed(result)).length
    const [median, most] = [times[Math.floor(times.length / 2)], times.at(-1)]
    return cells(COLUMNS, [fault, own.length, missed, failed, show(median), show(most)])
  })
  const failed = results.filter((result) => hasFailed(result))
  const missed = results.filter((result) => isMissed(result))
  const survivors = verdicts.filter((verdict) => !isCaught(verdict))
  const failures = failed.length + survivors.length
  const passed = results.length + verdicts.length - missed.length - failures
  const heading = cells(COLUMNS, ['fault', 'runs', 'missed', 'failed', 'recovery p50', 'longest'])
  return [
    ...(rows.length === 0 ? [] : [heading, ...rows]),
    ...showReturns(results),
    ...showComparisons(results),
    ...showProviders(results),
    ...(failed.length === 0
      ? []
      : ['', 'Failed runs; repeat one with --case <label>, a soak with the options shown:']),
    ...failed.map(({ case: label, violations }) => `  ${label}${showInvariants(violations)}`),
    ...(skipped.length === 0 ? [] : ['', `${skipped.length} skipped:`]),
    ...skipped.map(({ case: label, skipped: why }) => `  ${label}  (${why})`),
    ...(verdicts.length === 0 ? [] : ['', ...verdicts.map(showVerdict)]),
    '',
    ...(missed.length === 0
      ? []
      : [`${missed.length} missed: not every fault was injected, so these runs prove nothing`]),
    `${passed} passed, ${failures} failed`,
    '',
  ].join('\n')
}

function nameFaults({ faults, scenario, provider }: RunResult): string {
  if (provider !== IDEMPOTENT) return `${faults.join('+')}, ${provider} provider`
  if (faults.length > 1) return `${faults.length} faults, each in the previous recovery`
  return faults[0] ?? scenario
}

/** How soon new payments succeeded after an outage of PostgreSQL. */
function showReturns(results: readonly RunResult[]): string[] {
  const times = results.flatMap(({ returnMs }) => returnMs ?? [])
  if (times.length === 0) return []
  const longest = Math.round(Math.max(...times))
  const bound = `the limit is ${RETURN_LIMIT_MS} ms`
  return [
    '',
    `PostgreSQL came back in ${times.length} runs: new payments succeeded within ${longest} ms; ${bound}`,
  ]
}

/** What a tenant measured alone and beside its neighbours. */
function showComparisons(results: readonly RunResult[]): string[] {
  const lines = results.flatMap(({ scenario, comparisons = [] }) =>
    comparisons.map((one) => `${scenario}: ${showComparison(one)}`),
  )
  return lines.length === 0 ? [] : ['', ...lines]
}

export function showComparison({ what, unit, alone, beside, limit }: Comparison): string {
  const [one, other, most] = [alone, beside, limit].map((number) => `${Math.round(number)} ${unit}`)
  const ratio = unit === 'ms' ? ` (${(beside / alone).toFixed(2)} times)` : ''
  return `${what}: ${one} alone, ${other} beside its neighbour${ratio}; the limit is ${most}`
}

/** How often an invariant broke with each kind of provider. */
function showProviders(results: readonly RunResult[]): string[] {
  const byProvider = Map.groupBy(results, ({ provider }) => provider)
  if ([...byProvider.keys()].every((provider) => provider === IDEMPOTENT)) return []
  return [
    '',
    ...[...byProvider].map(([provider, own]) => {
      const broken = own.filter(({ violations }) => violations.length > 0).length
      return `${provider} provider: an invariant broke in ${broken} of ${own.length} runs`
    }),
  ]
}

function showInvariants(violations: RunResult['violations']): string {
  const numbers = [...new Set(violations.map(({ invariant }) => invariant))].toSorted(
    (a, b) => a - b,
  )
  return numbers.length === 0 ? '  (fault not injected)' : `  (invariant ${numbers.join(', ')})`
}

function showVerdict(verdict: MutantVerdict): string {
  const { name, caught_by: caughtBy, must_break: must, what } = verdict
  if (caughtBy !== null) return `mutant ${name}: caught by invariant ${caughtBy}`
  return `mutant ${name}: SURVIVED, invariant ${must} should have broken; ${what}`
}

function recoveryTimes(results: readonly RunResult[]): number[] {
  return results.flatMap(({ recoveryMs }) => recoveryMs ?? []).toSorted((a, b) => a - b)
}

function show(ms: number | undefined): string {
  return ms === undefined ? '' : `${Math.round(ms)} ms`
}
