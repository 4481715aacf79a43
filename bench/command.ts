// Runs a program that needs a temporary environment as a command. The environment is removed
// however the program ends, also after an interrupt. The exit code says how it ended.
import { configVariables } from '../src/config.ts'
import { UsageError } from './options.ts'
import { progressOn, type Progress } from './progress.ts'

const USAGE_ERROR = 2
const FAILED = 3
const INTERRUPTED = 130

interface Options {
  readonly help: boolean
}

interface Removable {
  remove(): Promise<void>
}

export interface Working<ParsedOptions, Environment> {
  readonly place: Environment
  readonly options: ParsedOptions
  readonly progress: Progress
  /** Aborted by an interrupt. */
  readonly signal: AbortSignal
}

export interface Command<ParsedOptions extends Options, Environment extends Removable> {
  readonly name: string
  readonly help: string
  /** Throws UsageError. */
  readonly read: (args: readonly string[]) => ParsedOptions
  /** Prints the plan and creates the environment. Throws UsageError when that is not possible. */
  readonly make: (options: ParsedOptions, progress: Progress) => Promise<Environment>
  /** Does the work, writes the report and returns the exit code. */
  readonly work: (working: Working<ParsedOptions, Environment>) => Promise<number>
}

/** Runs the command with the arguments of this process and sets the exit code. */
export async function runCommand<ParsedOptions extends Options, Environment extends Removable>(
  command: Command<ParsedOptions, Environment>,
): Promise<void> {
  const progress = progressOn(process.stderr)
  const interrupted = new AbortController()
  try {
    process.exitCode = await run(command, progress, interrupted)
  } catch (error) {
    progress.end()
    process.stderr.write(`${command.name}: ${reasonOf(error)}\n`)
    process.exitCode = error instanceof UsageError ? USAGE_ERROR : FAILED
  }
  if (interrupted.signal.aborted) process.exitCode = INTERRUPTED

  function reasonOf(error: unknown): string {
    if (interrupted.signal.aborted) return 'interrupted'
    if (error instanceof UsageError) return `${error.message}\n\n${command.help}`
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
}

async function run<ParsedOptions extends Options, Environment extends Removable>(
  command: Command<ParsedOptions, Environment>,
  progress: Progress,
  interrupted: AbortController,
): Promise<number> {
  const options = command.read(process.argv.slice(2))
  if (options.help) {
    process.stdout.write(command.help)
    return 0
  }
  // Settings in the user's shell must not reach the processes that are started here.
  for (const name of configVariables) delete process.env[name]
  // Not `once`: a second interrupt must not stop the removal.
  const interrupt = () => interrupted.abort(new Error('interrupted'))
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
  const { signal } = interrupted
  const place = await command.make(options, progress)
  try {
    signal.throwIfAborted()
    return await command.work({ place, options, progress, signal })
  } finally {
    progress.end()
    progress.say('Removing everything')
    await place.remove()
  }
}
