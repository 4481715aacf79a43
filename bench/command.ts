// How a program that makes a place of its own to work in runs as a command: the place is removed however it
// ends, an interrupt included, and its exit code says how it has ended.
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
  /** Says what is to come, and makes where it happens. Throws UsageError when it cannot be. */
  readonly make: (options: Read, progress: Progress) => Promise<Own>
  /** Does it, reports, and returns the exit code. */
  readonly work: (working: Working<Read, Own>) => Promise<number>
}

/** Runs the command with the arguments of this process, and sets its exit code. */
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
  // The settings of whoever runs it are not those of what is run.
  for (const name of configVariables) delete process.env[name]
  // More than once: an impatient second interrupt must not end the removal.
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
