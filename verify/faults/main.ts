// The fault-injection suite as a command: counts the points, makes the runs and reports the
// results.
import { cpus } from 'node:os'
import { runCommand, type Working } from '../../bench/command.ts'
import { readCommit } from '../../bench/machine.ts'
import type { Progress } from '../../bench/progress.ts'
import { brokenRun, type Case, hasFailed, messageOf, type RunResult } from './results.ts'
import { Environment } from './environment.ts'
import { type FaultsOptions, findPossible, HELP, listNames, readOptions } from './options.ts'
import { isCaught, type MutantVerdict, runMutants } from './mutants/run-mutants.ts'
import { type CountedScenario, planProviders, planRuns, planScenarios } from './plan.ts'
import { renderSummary, writeReport } from './report.ts'
import { soak } from './soak.ts'
import { fitMinutes, injectDuringRecovery, planMutants, planSuite } from './suite-plan.ts'
import { Suite } from './suite.ts'

const FAILED = 1
const LINGER_MS = 5_000

type Session = Working<FaultsOptions, Environment>

interface Outcome {
  readonly results: readonly RunResult[]
  readonly verdicts?: readonly MutantVerdict[]
  /** Of a complete suite, which is reported. */
  readonly counted?: readonly CountedScenario[]
}

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
  const { results, verdicts = [], counted } = outcome
  if (counted !== undefined && !session.signal.aborted) {
    await report(session, { results, verdicts, counted }, (performance.now() - startedAt) / 1_000)
  }
  process.stdout.write(renderSummary(results, verdicts))
  return results.some((result) => hasFailed(result)) ||
    verdicts.some((verdict) => !isCaught(verdict))
    ? FAILED
    : 0
}

async function runSelected(session: Session): Promise<Outcome> {
  const { place: environment, options, progress, signal } = session
  const { only, times, quick, lanes } = options
  const context = { environment, progress, signal, lanes }
  if (options.mutants !== undefined) {
    const { verdicts, controls } = await runMutants(context, options.mutants)
    return { results: controls, verdicts }
  }
  const lowPriority = options.soak?.alone === false
  const suite = new Suite({ ...context, lowPriority })
  if (only !== undefined) {
    return { results: await suite.run(Array.from({ length: times }, (): Case => only)) }
  }
  const possible = findPossible()
  for (const line of possible.leftOut) progress.say(line)
  const { counted, failed } = await suite.count(
    options.scenario === undefined
      ? planScenarios(possible.scenarios, options)
      : [options.scenario],
    quick,
  )
  if (signal.aborted) return { results: failed }
  if (options.soak?.alone === true) {
    await suite.end()
    return { results: [...failed, ...(await runSoak(session, counted))] }
  }
  const selected = selectRuns(options, counted)
  if (selected !== undefined) {
    progress.say(`${selected.length} runs`)
    return { results: [...failed, ...(await suite.run(selected))] }
  }
  for (const { scenario, points } of counted) progress.say(`${scenario}: ${points.length} points`)
  const plan = planSuite(counted, options)
  for (const line of plan.summary) progress.say(line)
  // The soak runs beside the others, because it mostly waits for the next fault or payment.
  const soakRun = runSoak({ ...session, progress: withoutProgressBar(progress) }, counted)
  const made = [...(await suite.run(plan.runs))]
  const nested = await injectDuringRecovery(suite, plan)
  const { events, contests, comparisons, providers } = plan
  const others = await suite.run(
    [...events, ...contests, ...comparisons, ...providers],
    'Orders of events, contests, comparisons, other providers',
  )
  made.push(...(await suite.run(plan.neighbours, 'Neighbours')))
  await suite.end()
  const { verdicts, controls } = await runMutants(
    context,
    planMutants(possible.mutants, options),
    made,
  )
  const results = [...failed, ...made, ...others, ...nested, ...controls, ...(await soakRun)]
  return { counted, results, verdicts }
}

/** The runs of one scenario, or with one provider; undefined for the whole suite. */
function selectRuns(
  options: FaultsOptions,
  counted: readonly CountedScenario[],
): readonly Case[] | undefined {
  const { scenario, provider } = options
  if (scenario !== undefined) return fitMinutes(planRuns(counted, options), counted, options)
  if (provider === undefined) return undefined
  const runs = planProviders(counted, options).filter((run) => run.provider === provider)
  return fitMinutes(runs, counted, options)
}

/** Returns none when no soak is wanted or it was interrupted. An error makes it a failed run. */
async function runSoak(
  { place: environment, options: { soak: wanted, seed }, progress, signal }: Session,
  counted: readonly CountedScenario[],
): Promise<RunResult[]> {
  if (wanted === undefined) return []
  const { minutes } = wanted
  const running = soak({ environment, progress, signal, seed, minutes, counted })
  const result = await running.catch((error: unknown) =>
    brokenRun({ scenario: 'soak', injections: [] }, undefined, messageOf(error), 0),
  )
  return signal.aborted ? [] : [result]
}

/** Prints messages without a progress bar, which belongs to the runs beside it. */
function withoutProgressBar(shown: Progress): Progress {
  return { say: (line) => shown.say(line), begin: () => () => {}, end: () => {} }
}

async function report(
  { options: { quick, seed }, progress }: Session,
  { counted, results, verdicts }: Required<Outcome>,
  seconds: number,
): Promise<void> {
  const all = cpus()
  const facts = {
    commit: await readCommit(),
    at: new Date().toISOString(),
    mode: quick ? 'quick' : 'full',
    seed,
    seconds: Math.round(seconds),
    machine: `${all.length} × ${all[0]?.model ?? 'unknown'}, Node ${process.version}`,
    counted: Object.fromEntries(
      counted.map(({ scenario, points }) => [scenario, points.map(({ label }) => label)]),
    ),
  } as const
  progress.say(`Report: ${await writeReport(facts, { results, verdicts })}`)
}
