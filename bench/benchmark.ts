// What each mode of the benchmark gets, and how it starts its database.
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
