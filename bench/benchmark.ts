// How a benchmark runs as a command: on a stack of its own, whose last words are told when it fails.
import { runCommand } from './command.ts'
import type { Progress } from './progress.ts'
import { BenchStack } from './stack.ts'

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

export interface Benchmark<Read extends Options> {
  readonly name: string
  readonly help: string
  readonly read: (args: readonly string[]) => Read
  /** Says what is to come, before anything is made. Throws UsageError when it cannot be. */
  readonly announce: (options: Read, progress: Progress) => Promise<void>
  /** Measures, reports, and returns the exit code. */
  readonly measure: (measuring: Measuring<Read>) => Promise<number>
}

/** Runs the benchmark with the arguments of this process, and sets its exit code. */
export async function runBenchmark<Read extends Options>(
  benchmark: Benchmark<Read>,
): Promise<void> {
  const { name, help, read, announce, measure } = benchmark
  await runCommand<Read, BenchStack>({
    name,
    help,
    read,
    async make(options, progress) {
      await announce(options, progress)
      return await BenchStack.make(options.folder)
    },
    async work({ place: stack, ...others }) {
      const { signal } = others
      const measured = measure({ stack, ...others })
      // What fails because the stack is taken away is nobody's concern.
      measured.catch(() => {})
      try {
        return await Promise.race([measured, untilAborted(signal)])
      } catch (error) {
        if (!signal.aborted) process.stderr.write(`${stack.lastWords()}\n`)
        throw error
      }
    },
  })
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}
