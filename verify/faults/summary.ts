// What is printed when all runs are made: how many of each fault, how long recovery took, what failed.
import { cells } from '../../bench/report-files.ts'
import { RETURN_LIMIT_MS } from './bounds.ts'
import { isCaught, type MutantVerdict } from './mutants/verdict.ts'
import { IDEMPOTENT, providerNamed } from './providers.ts'
import { hasFailed, isMissed, isSkipped, type RunResult } from './results.ts'

const COLUMNS = [44, 8, 8, 8, 14, 14]

/** Ends with the line that a gate reads. */
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
    ...showProviders(results),
    ...(failed.length === 0
      ? []
      : ['', 'Failed; each is repeated with --case, a soak by its own options:']),
    ...failed.map(({ case: label, violations }) => `  ${label}${showInvariants(violations)}`),
    ...(skipped.length === 0 ? [] : ['', `${skipped.length} skipped:`]),
    ...skipped.map(({ case: label, skipped: why }) => `  ${label}  (${why})`),
    ...(verdicts.length === 0 ? [] : ['', ...verdicts.map(showVerdict)]),
    '',
    ...(missed.length === 0
      ? []
      : [`${missed.length} missed: not every strike found its point, so that they prove nothing`]),
    `${passed} passed, ${failures} failed`,
    '',
  ].join('\n')
}

function nameFaults({ faults, scenario, provider }: RunResult): string {
  if (provider !== IDEMPOTENT) return `${faults.join('+')}, ${provider} provider`
  if (faults.length > 1) return `${faults.length} crashes, one in the recovery of another`
  return faults[0] ?? scenario
}

/** How soon new payments succeeded after an outage of PostgreSQL. */
function showReturns(results: readonly RunResult[]): string[] {
  const times = results.flatMap(({ returnMs }) => returnMs ?? [])
  if (times.length === 0) return []
  const longest = Math.round(Math.max(...times))
  const bound = `the bound is ${RETURN_LIMIT_MS} ms`
  return [
    '',
    `PostgreSQL came back in ${times.length} runs: new payments succeeded within ${longest} ms; ${bound}`,
  ]
}

/** Which invariants did not survive a provider with which nobody can keep them. */
function showProviders(results: readonly RunResult[]): string[] {
  const byProvider = Map.groupBy(results, ({ provider }) => provider)
  if ([...byProvider.keys()].every((provider) => provider === IDEMPOTENT)) return []
  return [
    '',
    ...[...byProvider].map(([provider, own]) => {
      const lost = own.filter(({ unprovable }) => unprovable.length > 0)
      const { unprovable } = providerNamed(provider)
      if (unprovable.length === 0)
        return `${provider} provider: every invariant is to hold; ${own.length} runs`
      const broken = `which broke in ${lost.length} of ${own.length} runs`
      return `${provider} provider: nobody can promise invariants ${unprovable.join(' and ')}, ${broken}`
    }),
  ]
}

function showInvariants(violations: RunResult['violations']): string {
  const numbers = [...new Set(violations.map(({ invariant }) => invariant))].toSorted(
    (a, b) => a - b,
  )
  return numbers.length === 0 ? '  (not struck)' : `  (invariant ${numbers.join(', ')})`
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
