// Runs a program that needs a temporary environment as a command. The environment is removed
// however the program ends, also after an interrupt. The exit code says how it ended.
import { configVariables } from '../src/config.ts'
import { UsageError } from './options.ts'
import { progressOn, type Progress } from './progress.ts'

const WRONG_OPTIONS = 2
const NOT_DONE = 3
const INTERRUPTED = 130

interface Options {
  readonly help: boolean
}

interface Place {
  remove(): Promise<void>
}

export interface Working<Read, Own> {
  readonly place: Own
  readonly options: Read
  readonly progress: Progress
  /** Aborted by an interrupt. */
  readonly signal: AbortSignal
}

export interface Command<Read extends Options, Own extends Place> {
  readonly name: string
  readonly help: string
  /** Throws UsageError. */
  readonly read: (args: readonly string[]) => Read
  /** Prints the plan and creates the environment. Throws UsageError when that is not possible. */
  readonly make: (options: Read, progress: Progress) => Promise<Own>
  /** Does the work, writes the report and returns the exit code. */
  readonly work: (working: Working<Read, Own>) => Promise<number>
}

/** Runs the command with the arguments of this process and sets the exit code. */
export async function runCommand<Read extends Options, Own extends Place>(
  command: Command<Read, Own>,
): Promise<void> {
  const progress = progressOn(process.stderr)
  const interrupted = new AbortController()
  try {
    process.exitCode = await run(command, progress, interrupted)
  } catch (error) {
    progress.end()
    process.stderr.write(`${command.name}: ${reasonOf(error)}\n`)
    process.exitCode = error instanceof UsageError ? WRONG_OPTIONS : NOT_DONE
  }
  if (interrupted.signal.aborted) process.exitCode = INTERRUPTED

  function reasonOf(error: unknown): string {
    if (interrupted.signal.aborted) return 'interrupted'
    if (error instanceof UsageError) return `${error.message}\n\n${command.help}`
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
}

async function run<Read extends Options, Own extends Place>(
  command: Command<Read, Own>,
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
