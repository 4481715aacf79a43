// Faults in which PostgreSQL itself refuses: no connection left, a full disk, a deadlock. The proxy
// makes up none of them.
import { occupyConnections } from './connections-full.ts'
import { causeDeadlock } from './deadlock.ts'
import { fillDisk } from './disk-full.ts'
import type { Fault } from './fault.ts'
import { isRepeated, type Point } from './points.ts'

/** Statements that write the row of an operation. */
const WRITING = ['reserve', 'claim', 'advance', 'finish']

export const shortages: readonly Fault[] = [
  {
    name: 'connections-full',
    appliesAt: (point) => isBefore(point, ['fetch-operations', ...WRITING, 'complete-job']),
    affectsServer: true,
    inject: (context, point) => occupyConnections(context, point),
  },
  {
    name: 'disk-full',
    appliesAt: (point) => isBefore(point, WRITING) && !findsItsRow(point),
    affectsServer: true,
    needsDisk: true,
    inject: (context, point) => fillDisk(context, point),
  },
  {
    // These statements of a worker lock the operation. Its payment is locked by the next one.
    name: 'deadlock',
    appliesAt: (point) => point.role === 'worker' && isBefore(point, ['advance', 'finish']),
    inject: (context, point) => causeDeadlock(context, point),
  },
]

/** A repeated request writes nothing. */
function findsItsRow({ name, label }: Point): boolean {
  return name === 'reserve' && isRepeated(label)
}

function isBefore(
  { peer, direction, moment, message, name }: Point,
  names: readonly string[],
): boolean {
  const isSent = peer === 'store' && direction === 'out' && moment === 'before'
  return isSent && (message === 'Execute' || message === 'Query') && names.includes(name)
}
