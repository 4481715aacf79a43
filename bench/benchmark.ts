// Runs a benchmark as a command on its own stack. If the benchmark fails, prints the last log lines
// of the stack.
import { runCommand } from './command.ts'
import { readMachine, warningOf, type Machine } from './machine.ts'
import type { Progress } from './progress.ts'
import { BenchStack } from './stack.ts'

interface Options {
  readonly help: boolean
  /** The parent of the stack's temporary folder. */
  readonly folder: string
}

export interface Measuring<ParsedOptions> {
  readonly stack: BenchStack
  readonly options: ParsedOptions
  readonly progress: Progress
  /** Aborted by an interrupt. */
  readonly signal: AbortSignal
}

export interface Benchmark<ParsedOptions extends Options> {
  readonly name: string
  readonly help: string
  readonly read: (args: readonly string[]) => ParsedOptions
  /** Prints the plan before anything is created. Throws UsageError when the run is not possible. */
  readonly announce: (options: ParsedOptions, progress: Progress) => Promise<void>
  /** Measures, reports, and returns the exit code. */
  readonly measure: (measuring: Measuring<ParsedOptions>) => Promise<number>
}

/** Runs the benchmark with the arguments of this process and sets the exit code. */
export async function runBenchmark<ParsedOptions extends Options>(
  benchmark: Benchmark<ParsedOptions>,
): Promise<void> {
  const { name, help, read, announce, measure } = benchmark
  await runCommand<ParsedOptions, BenchStack>({
    name,
    help,
    read,
    async make(options, progress) {
      await announce(options, progress)
      return await BenchStack.make(options.folder)
    },
    async work({ place: stack, ...context }) {
      const { signal } = context
      const measured = measure({ stack, ...context })
      // After an interrupt the stack is removed under the measurement. Its rejection is not an
      // error.
      measured.catch(() => {})
      try {
        return await Promise.race([measured, untilAborted(signal)])
      } catch (error) {
        if (!signal.aborted) process.stderr.write(`${stack.lastLogLines()}\n`)
        throw error
      }
    },
  })
}

/** Starts PostgreSQL and describes the machine. Warns when other processes keep it busy. */
export async function startDatabase({
  stack,
  progress,
}: Pick<Measuring<unknown>, 'stack' | 'progress'>): Promise<Machine> {
  progress.say('Starting PostgreSQL')
  await stack.startDatabase()
  const machine = await readMachine(stack.owner.sql)
  const warning = warningOf(machine)
  if (warning !== undefined) progress.say(warning)
  return machine
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}
