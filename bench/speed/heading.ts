// Formats the heading of a report: the machine and the conditions, without which a figure means
// nothing.
import { showMachine } from '../machine.ts'
import type { Report } from './summary.ts'

export function headingOf({ at, machine, options }: Report): string {
  return (
    `${showMachine(machine)}, ${at}; ${options.rounds} rounds of ${options.seconds} s each, ` +
    `${options.payments.toLocaleString('en')} payments before, fsync on, load on the same machine`
  )
}
