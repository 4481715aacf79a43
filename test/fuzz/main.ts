// `npm run fuzz`: sends bad input to a service of its own, says what has come of it, and removes everything
// however it ends.
import { UsageError } from '../../bench/options.ts'
import { progressOn } from '../../bench/progress.ts'
import { configVariables } from '../../src/config.ts'
import { Ground } from './ground.ts'
import { HELP, readOptions, type FuzzOptions } from './options.ts'
import { renderReport } from './report.ts'
import { runFuzz } from './run.ts'
import { openShop } from './shop.ts'

const FAILED = 1
const WRONG_OPTIONS = 2
const NOT_RUN = 3
const INTERRUPTED = 130

const progress = progressOn(process.stderr)
const interrupted = new AbortController()

try {
  process.exitCode = await run(readOptions(process.argv.slice(2), Math.random()))
} catch (error) {
  progress.end()
  process.stderr.write(`fuzz: ${reasonOf(error)}\n`)
  process.exitCode = error instanceof UsageError ? WRONG_OPTIONS : NOT_RUN
}
if (interrupted.signal.aborted) process.exitCode = INTERRUPTED

function reasonOf(error: unknown): string {
  if (interrupted.signal.aborted) return 'interrupted'
  if (error instanceof UsageError) return `${error.message}\n\n${HELP}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

async function run(options: FuzzOptions): Promise<number> {
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
    progress.say(`Seed ${options.seed}. Starting PostgreSQL, mock provider, worker and API`)
    const subject = await ground.start()
    const place = { subject, shop: await openShop(subject) }
    const outcome = await runFuzz(place, options, progress, interrupted.signal)
    progress.end()
    process.stdout.write(renderReport(outcome, options.seed))
    return outcome.failed === 0 ? 0 : FAILED
  } finally {
    progress.end()
    progress.say('Removing everything')
    await ground.remove()
  }
}
