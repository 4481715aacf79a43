// What each mode of a benchmark gets, how it is run, and how it starts its database.
import { once } from 'node:events'
import { BUSY_LIMIT, readMachine, type Machine } from './machine.ts'
import type { Working } from './command.ts'
import type { BenchOptions } from './speed/arguments.ts'
import type { BenchStack } from './stack.ts'

export interface Measuring extends Omit<Working<BenchOptions, BenchStack>, 'place'> {
  readonly stack: BenchStack
}

/** Starts PostgreSQL and describes the machine. Warns when other processes keep it busy. */
export async function startDatabase({ stack, progress }: Measuring): Promise<Machine> {
  progress.say('Starting PostgreSQL')
  await stack.startDatabase()
  const machine = await readMachine(stack.owner.sql)
  if (machine.busyBefore > BUSY_LIMIT) {
    const share = Math.round(machine.busyBefore * 100)
    progress.say(`WARNING: other processes use ${share} % of this machine and distort the figures`)
  }
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
    await Promise.race([measured, once(signal, 'abort')])
    signal.throwIfAborted()
    return await measured
  } catch (error) {
    if (!signal.aborted) process.stderr.write(`${stack.lastLogLines()}\n`)
    throw error
  }
}
