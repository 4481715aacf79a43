// On what was measured, and how: the line that a figure means nothing without.
import { showMachine } from '../machine.ts'
import type { Report } from './summary.ts'

export function headingOf({ at, machine, options }: Report): string {
  return (
    `${showMachine(machine)}, ${at}; ${options.rounds} rounds of ${options.seconds} s each, ` +
    `${options.payments.toLocaleString('en')} payments before, fsync on, load on the same machine`
  )
}
