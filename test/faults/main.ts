// The fault-injection suite as a command: counts the points, makes the runs, says what they have come to, and
// removes everything however it ends.
import { UsageError } from '../../bench/options.ts'
import { progressOn, type Progress } from '../../bench/progress.ts'
import { configVariables } from '../../src/config.ts'
import type { Case } from './case.ts'
import { Ground } from './ground.ts'
import { REPOSITORY } from './lane.ts'
import { HELP, readOptions, type FaultsOptions } from './options.ts'
import { planRuns } from './plan.ts'
import { hasPassed, type RunResult } from './results.ts'
import { scenarios } from './scenarios.ts'
import { Suite } from './suite.ts'
import { renderSummary } from './summary.ts'

const FAILED = 1
const WRONG_OPTIONS = 2
const NOT_RUN = 3
const INTERRUPTED = 130

const progress = progressOn(process.stderr)
const interrupted = new AbortController()

try {
  process.exitCode = await run(readOptions(process.argv.slice(2)))
} catch (error) {
  progress.end()
  process.stderr.write(`faults: ${reasonOf(error)}\n`)
  process.exitCode = error instanceof UsageError ? WRONG_OPTIONS : NOT_RUN
}
if (interrupted.signal.aborted) process.exitCode = INTERRUPTED

function reasonOf(error: unknown): string {
  if (error instanceof UsageError) return `${error.message}\n\n${HELP}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

async function run(options: FaultsOptions): Promise<number> {
  if (options.help) {
    process.stdout.write(HELP)
    return 0
  }
  // The settings of whoever runs the suite are not those of what is run.
  for (const name of configVariables) delete process.env[name]
  // More than once: an impatient second interrupt must not end the removal.
  const interrupt = () => interrupted.abort(new Error('interrupted'))
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
  const ground = await Ground.make()
  try {
    const results = await makeRuns(options, ground, progress, interrupted.signal)
    progress.end()
    process.stdout.write(renderSummary(results))
    return results.every((result) => hasPassed(result)) ? 0 : FAILED
  } finally {
    progress.end()
    progress.say('Removing everything')
    await ground.remove()
  }
}

async function makeRuns(
  { only, times, quick, seed, lanes }: FaultsOptions,
  ground: Ground,
  shown: Progress,
  signal: AbortSignal,
): Promise<RunResult[]> {
  const suite = new Suite({
    ground,
    progress: shown,
    signal,
    lanes,
    product: { root: REPOSITORY },
  })
  if (only !== undefined) return await suite.run(Array.from({ length: times }, (): Case => only))
  const { counted, failed } = await suite.count(scenarios.map(({ name }) => name))
  if (signal.aborted) return failed
  for (const { scenario, points } of counted) shown.say(`${scenario}: ${points.length} points`)
  const results = await suite.run(planRuns(counted, { quick, seed }))
  return [...failed, ...results]
}
