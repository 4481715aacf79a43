// The fault-injection suite as a command: counts the points, makes the runs and reports the
// results.
import { cpus } from 'node:os'
import { runCommand, type Working } from '../../bench/command.ts'
import { readCommit } from '../../bench/machine.ts'
import type { Plot } from '../../bench/page.ts'
import type { Progress } from '../../bench/progress.ts'
import type { Case } from './case.ts'
import { Ground } from './ground.ts'
import { HELP, readOptions, type FaultsOptions } from './options.ts'
import { mutants } from './mutants/mutants.ts'
import { runMutants } from './mutants/run-mutants.ts'
import { isCaught, type MutantVerdict } from './mutants/verdict.ts'
import type { CountedScenario } from './plan.ts'
import { makeReport } from './report/report.ts'
import { REPORT_FOLDER, SOAK_FOLDER, writeReport } from './report/write-report.ts'
import { brokenRun, hasFailed, isSkipped, type RunResult } from './results.ts'
import { scenarios } from './scenarios.ts'
import { soak, type SoakOutcome } from './soak/soak.ts'
import { strikeRecoveries } from './strike-recoveries.ts'
import { planSuite } from './suite-plan.ts'
import { Suite } from './suite.ts'
import { renderSummary } from './summary.ts'

const FAILED = 1
const LINGER_MS = 5_000

const NOTHING: Outcome = { counted: [], results: [], verdicts: [], soak: [] }

type Making = Working<FaultsOptions, Ground>

await runCommand<FaultsOptions, Ground>({
  name: 'faults',
  help: HELP,
  read: readOptions,
  make: () => Ground.make(),
  work,
})
// Everything is removed by now. A handle that was left open must not keep the process alive.
setTimeout(() => {
  process.stderr.write(
    `faults: open handles at exit: ${process.getActiveResourcesInfo().join(', ')}\n`,
  )
  process.exit()
}, LINGER_MS).unref()

async function work(making: Making): Promise<number> {
  const startedAt = performance.now()
  const outcome = await makeRuns(making)
  making.progress.end()
  const { results, verdicts } = outcome
  if (isWhole(making)) await report(making, outcome, (performance.now() - startedAt) / 1_000)
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

async function makeRuns(making: Making): Promise<Outcome> {
  const { place: ground, options, progress, signal } = making
  const { only, times, quick, seed, lanes } = options
  const surroundings = { ground, progress, signal, lanes }
  if (options.mutants !== undefined) {
    const { verdicts, controls } = await runMutants(surroundings, options.mutants)
    return { ...NOTHING, results: controls, verdicts }
  }
  const yields = options.soak?.alone === false
  const suite = new Suite({ ...surroundings, yields })
  if (only !== undefined) {
    const results = await suite.run(Array.from({ length: times }, (): Case => only))
    return { ...NOTHING, results }
  }
  const { counted, failed } = await suite.count(scenarios.map(({ name }) => name))
  if (signal.aborted) return { ...NOTHING, counted, results: failed }
  if (options.soak?.alone === true) {
    await suite.end()
    return withSoak({ ...NOTHING, counted, results: failed }, await runSoak(making, counted))
  }
  for (const { scenario, points } of counted) progress.say(`${scenario}: ${points.length} points`)
  const plan = planSuite(counted, { quick, seed })
  for (const line of plan.told) progress.say(line)
  // The soak runs beside the others, because it mostly waits for the next fault or payment.
  const soaking = runSoak({ ...making, progress: besideOthers(progress) }, counted)
  const results = await suite.run(plan.runs)
  const deeper = await strikeRecoveries(suite, plan)
  const events = await suite.run(plan.events, 'Orders of provider events')
  const reaped = await suite.run(plan.reapings, 'Contests with the reaper')
  const others = await suite.run(plan.providers, 'Other providers')
  await suite.end()
  const { verdicts, controls } = await runMutants(surroundings, mutants, results)
  const all = [...failed, ...results, ...deeper, ...events, ...reaped, ...others, ...controls]
  return withSoak({ ...NOTHING, counted, results: all, verdicts }, await soaking)
}

/**
 * Returns undefined when no soak is wanted or it was interrupted. An error makes it a failed run.
 */
async function runSoak(
  { place: ground, options: { soak: wanted, seed }, progress, signal }: Making,
  counted: readonly CountedScenario[],
): Promise<SoakOutcome | undefined> {
  if (wanted === undefined) return undefined
  const { minutes } = wanted
  const made = soak({ ground, progress, signal, seed, minutes, counted })
  const outcome = await made.catch((error: unknown) => {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
    const result = brokenRun({ scenario: 'soak', strikes: [] }, undefined, what, 0)
    return { result, plots: [] }
  })
  return signal.aborted ? undefined : outcome
}

/** Prints messages without a progress bar, which belongs to the runs beside it. */
function besideOthers(shown: Progress): Progress {
  return { say: (line) => shown.say(line), begin: () => () => {}, end: () => {} }
}

function withSoak(before: Outcome, soaked: SoakOutcome | undefined): Outcome {
  if (soaked === undefined) return before
  return { ...before, results: [...before.results, soaked.result], soak: soaked.plots }
}

/** Only a complete suite is reported: no single run, no mutants alone, no interrupted suite. */
function isWhole({ options, signal }: Making): boolean {
  return options.only === undefined && options.mutants === undefined && !signal.aborted
}

async function report(
  { options: { quick, seed, soak: wanted }, progress }: Making,
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
