// What each mode of a benchmark gets, how it is run, and how it starts its database.
import { readMachine, warningOf, type Machine } from './machine.ts'
import type { Progress } from './progress.ts'
import type { BenchOptions } from './speed/arguments.ts'
import type { BenchStack } from './stack.ts'

export interface Measuring {
  readonly stack: BenchStack
  readonly options: BenchOptions
  readonly progress: Progress
  /** Aborted by an interrupt. */
  readonly signal: AbortSignal
}

/** Starts PostgreSQL and describes the machine. Warns when other processes keep it busy. */
export async function startDatabase({
  stack,
  progress,
}: Pick<Measuring, 'stack' | 'progress'>): Promise<Machine> {
  progress.say('Starting PostgreSQL')
  await stack.startDatabase()
  const machine = await readMachine(stack.owner.sql)
  const warning = warningOf(machine)
  if (warning !== undefined) progress.say(warning)
  return machine
}

/** Measures until it has ended or is interrupted. Prints the last lines of the log when it fails. */
export async function measureOn(
  stack: BenchStack,
  measure: (measuring: Measuring) => Promise<number>,
  context: Omit<Measuring, 'stack'>,
): Promise<number> {
  const { signal } = context
  const measured = measure({ stack, ...context })
  // After an interrupt the stack is removed under the measurement. Its rejection is not an error.
  measured.catch(() => {})
  try {
    return await Promise.race([measured, untilAborted(signal)])
  } catch (error) {
    if (!signal.aborted) process.stderr.write(`${stack.lastLogLines()}\n`)
    throw error
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}
