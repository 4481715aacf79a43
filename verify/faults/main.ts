// The fault-injection suite as a command: counts the points, makes the runs and reports the
// results.
import { cpus } from 'node:os'
import { runCommand, type Working } from '../../bench/command.ts'
import { readCommit } from '../../bench/machine.ts'
import type { Plot } from '../../bench/page.ts'
import type { Progress } from '../../bench/progress.ts'
import type { Case } from './case.ts'
import { Environment } from './environment.ts'
import { HELP, listNames, readOptions, type FaultsOptions } from './options.ts'
import { findPossible } from './machine-needs.ts'
import { runMutants } from './mutants/run-mutants.ts'
import { isCaught, type MutantVerdict } from './mutants/verdict.ts'
import { planProviders, planRuns, planScenarios, type CountedScenario } from './plan.ts'
import { makeReport } from './report/report.ts'
import { REPORT_FOLDER, SOAK_FOLDER, writeReport } from './report/write-report.ts'
import { brokenRun, hasFailed, isSkipped, type RunResult } from './results.ts'
import { soak, type SoakOutcome } from './soak/soak.ts'
import { injectDuringRecovery } from './recovery-faults.ts'
import { fitMinutes, planMutants, planSuite } from './suite-plan.ts'
import { Suite } from './suite.ts'
import { renderSummary } from './summary.ts'

const FAILED = 1
const LINGER_MS = 5_000

const EMPTY_OUTCOME: Outcome = { counted: [], results: [], verdicts: [], soak: [] }

type Session = Working<FaultsOptions, Environment>

if (process.argv.includes('--list')) process.stdout.write(listNames())
else {
  await runCommand<FaultsOptions, Environment>({
    name: 'faults',
    help: HELP,
    read: readOptions,
    make: () => Environment.create(),
    work,
  })
}
// Everything is removed by now. A handle that was left open must not keep the process alive.
setTimeout(() => {
  process.stderr.write(
    `faults: open handles at exit: ${process.getActiveResourcesInfo().join(', ')}\n`,
  )
  process.exit()
}, LINGER_MS).unref()

async function work(session: Session): Promise<number> {
  const startedAt = performance.now()
  const outcome = await runSelected(session)
  session.progress.end()
  const { results, verdicts } = outcome
  if (isFullSuite(session)) await report(session, outcome, (performance.now() - startedAt) / 1_000)
  process.stdout.write(renderSummary(results, verdicts))
  return results.some((result) => hasFailed(result)) ||
    verdicts.some((verdict) => !isCaught(verdict))
    ? FAILED
    : 0
}

interface Outcome {
  readonly counted: readonly CountedScenario[]
  readonly results: readonly RunResult[]
  readonly verdicts: readonly MutantVerdict[]
  readonly soak: readonly Plot[]
}

async function runSelected(session: Session): Promise<Outcome> {
  const { place: environment, options, progress, signal } = session
  const { only, times, quick, seed, lanes, minutes } = options
  const context = { environment, progress, signal, lanes }
  if (options.mutants !== undefined) {
    const { verdicts, controls } = await runMutants(context, options.mutants)
    return { ...EMPTY_OUTCOME, results: controls, verdicts }
  }
  const lowPriority = options.soak?.alone === false
  const suite = new Suite({ ...context, lowPriority })
  if (only !== undefined) {
    const results = await suite.run(Array.from({ length: times }, (): Case => only))
    return { ...EMPTY_OUTCOME, results }
  }
  const possible = findPossible()
  for (const line of possible.leftOut) progress.say(line)
  const { counted, failed } = await suite.count(
    options.scenario === undefined
      ? planScenarios(possible.scenarios, options)
      : [options.scenario],
    quick,
  )
  if (signal.aborted) return { ...EMPTY_OUTCOME, counted, results: failed }
  if (options.soak?.alone === true) {
    await suite.end()
    return withSoak({ ...EMPTY_OUTCOME, counted, results: failed }, await runSoak(session, counted))
  }
  if (options.scenario !== undefined) {
    const runs = fitMinutes(planRuns(counted, options), counted, options)
    progress.say(`${options.scenario}: ${runs.length} runs`)
    const results = await suite.run(runs)
    return { ...EMPTY_OUTCOME, counted, results: [...failed, ...results] }
  }
  if (options.provider !== undefined) {
    const runs = planProviders(counted, { quick, seed }).filter(
      ({ provider }) => provider === options.provider,
    )
    const fitting = fitMinutes(runs, counted, options)
    const results = await suite.run(fitting, `Provider ${options.provider}`)
    return { ...EMPTY_OUTCOME, counted, results: [...failed, ...results] }
  }
  for (const { scenario, points } of counted) progress.say(`${scenario}: ${points.length} points`)
  const plan = planSuite(counted, { quick, seed, minutes })
  for (const line of plan.summary) progress.say(line)
  // The soak runs beside the others, because it mostly waits for the next fault or payment.
  const soakRun = runSoak({ ...session, progress: withoutProgressBar(progress) }, counted)
  const results = await suite.run(plan.runs)
  const nested = await injectDuringRecovery(suite, plan)
  const events = await suite.run(plan.events, 'Orders of provider events')
  const contests = await suite.run(plan.contests, 'Contests')
  const compared = await suite.run(plan.comparisons, 'Comparisons with the provider')
  const others = await suite.run(plan.providers, 'Other providers')
  const neighbours = await suite.run(plan.neighbours, 'Neighbours')
  await suite.end()
  const made = [...results, ...neighbours]
  const planned = planMutants(possible.mutants, { quick, seed })
  const { verdicts, controls } = await runMutants(context, planned, made)
  const single = [...made, ...events, ...contests, ...compared, ...others]
  const all = [...failed, ...single, ...nested, ...controls]
  return withSoak({ ...EMPTY_OUTCOME, counted, results: all, verdicts }, await soakRun)
}

/**
 * Returns undefined when no soak is wanted or it was interrupted. An error makes it a failed run.
 */
async function runSoak(
  { place: environment, options: { soak: wanted, seed }, progress, signal }: Session,
  counted: readonly CountedScenario[],
): Promise<SoakOutcome | undefined> {
  if (wanted === undefined) return undefined
  const { minutes } = wanted
  const running = soak({ environment, progress, signal, seed, minutes, counted })
  const outcome = await running.catch((error: unknown) => {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
    const result = brokenRun({ scenario: 'soak', injections: [] }, undefined, what, 0)
    return { result, plots: [] }
  })
  return signal.aborted ? undefined : outcome
}

/** Prints messages without a progress bar, which belongs to the runs beside it. */
function withoutProgressBar(shown: Progress): Progress {
  return { say: (line) => shown.say(line), begin: () => () => {}, end: () => {} }
}

function withSoak(before: Outcome, soakOutcome: SoakOutcome | undefined): Outcome {
  if (soakOutcome === undefined) return before
  return { ...before, results: [...before.results, soakOutcome.result], soak: soakOutcome.plots }
}

/** Only a complete suite is reported: none of a part alone, none interrupted. */
function isFullSuite({ options, signal }: Session): boolean {
  const { only, mutants, provider, scenario } = options
  return [only, mutants, provider, scenario].every((part) => part === undefined) && !signal.aborted
}

async function report(
  { options: { quick, seed, soak: wanted }, progress }: Session,
  { counted, results, verdicts, soak: plots }: Outcome,
  seconds: number,
): Promise<void> {
  const points = counted.map(({ scenario, points: own }) => [
    scenario,
    own.map(({ label }) => label),
  ])
  const all = cpus()
  const { html } = await writeReport(
    makeReport({
      commit: await readCommit(),
      at: new Date().toISOString(),
      mode: quick ? 'quick' : 'full',
      seed,
      seconds,
      machine: `${all.length} × ${all[0]?.model ?? 'unknown'}, Node ${process.version}`,
      counted: Object.fromEntries(points) as Record<string, string[]>,
      runs: results.filter((result) => !isSkipped(result)),
      skipped: results.filter((result) => isSkipped(result)),
      mutants: verdicts,
      soak: plots,
    }),
    // A soak alone must not overwrite the last report of the whole suite.
    wanted?.alone === true ? SOAK_FOLDER : REPORT_FOLDER,
  )
  progress.say(`Report: ${html}`)
}
