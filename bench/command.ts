// How a benchmark runs as a command: its stack is removed however it ends, an interrupt included, and its
// exit code says how it has ended.
import { configVariables } from '../src/config.ts'
import { UsageError } from './options.ts'
import { progressOn, type Progress } from './progress.ts'
import { BenchStack } from './stack.ts'

const WRONG_OPTIONS = 2
const NOT_MEASURED = 3
const INTERRUPTED = 130

interface Options {
  readonly help: boolean
  /** Where the stack makes a folder of its own. */
  readonly folder: string
}

export interface Measuring<Read> {
  readonly stack: BenchStack
  readonly options: Read
  readonly progress: Progress
  /** Aborted by an interrupt. */
  readonly signal: AbortSignal
}

export interface Command<Read extends Options> {
  readonly name: string
  readonly help: string
  readonly read: (args: readonly string[]) => Read
  /** Says what is to come, before anything is made. Throws UsageError when it cannot be. */
  readonly announce: (options: Read, progress: Progress) => Promise<void>
  /** Measures, reports, and returns the exit code. */
  readonly measure: (measuring: Measuring<Read>) => Promise<number>
}

/** Runs the command with the arguments of this process, and sets its exit code. */
export async function runCommand<Read extends Options>(command: Command<Read>): Promise<void> {
  const progress = progressOn(process.stderr)
  const interrupted = new AbortController()
  try {
    process.exitCode = await run(command, progress, interrupted)
  } catch (error) {
    progress.end()
    process.stderr.write(`${command.name}: ${reasonOf(error)}\n`)
    process.exitCode = exitCodeOf(error)
  }

  function reasonOf(error: unknown): string {
    if (interrupted.signal.aborted) return 'interrupted'
    if (error instanceof UsageError) return `${error.message}\n\n${command.help}`
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  }

  function exitCodeOf(error: unknown): number {
    if (interrupted.signal.aborted) return INTERRUPTED
    return error instanceof UsageError ? WRONG_OPTIONS : NOT_MEASURED
  }
}

async function run<Read extends Options>(
  command: Command<Read>,
  progress: Progress,
  interrupted: AbortController,
): Promise<number> {
  const options = command.read(process.argv.slice(2))
  if (options.help) {
    process.stdout.write(command.help)
    return 0
  }
  // The settings of whoever measures are not those of what is measured.
  for (const name of configVariables) delete process.env[name]
  await command.announce(options, progress)
  const { signal } = interrupted
  // More than once: an impatient second interrupt must not end the removal.
  const interrupt = () => interrupted.abort(new Error('interrupted'))
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
  const stack = await BenchStack.make(options.folder)
  try {
    const work = command.measure({ stack, options, progress, signal })
    // What fails because the stack is taken away is nobody's concern.
    work.catch(() => {})
    return await Promise.race([work, untilAborted(signal)])
  } catch (error) {
    if (!signal.aborted) process.stderr.write(`${stack.lastWords()}\n`)
    throw error
  } finally {
    progress.end()
    progress.say('Removing everything')
    await stack.remove()
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}
