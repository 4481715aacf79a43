// Faults in which PostgreSQL itself refuses: no connection left, a full disk, a deadlock. The proxy
// makes up none of them.
import { holdConnections } from './connections-full.ts'
import { lockCrosswise } from './deadlock.ts'
import { fillDisk } from './disk-full.ts'
import type { Fault } from './faults.ts'
import type { Point } from './points.ts'

/** Statements that write the row of an operation. */
const WRITING = ['reserve', 'claim', 'advance', 'finish']

export const shortages: readonly Fault[] = [
  {
    name: 'connections-full',
    strikesAt: (point) => isBefore(point, ['fetch-operations', ...WRITING, 'complete-job']),
    strikesServer: true,
    strike: (scene, point) => holdConnections(scene, point),
  },
  {
    name: 'disk-full',
    strikesAt: (point) => isBefore(point, WRITING),
    strikesServer: true,
    needsDisk: true,
    strike: (scene, point) => fillDisk(scene, point),
  },
  {
    // These statements lock the operation first and its payment second.
    name: 'deadlock',
    strikesAt: (point) => isBefore(point, ['advance', 'finish']),
    strike: (scene, point) => lockCrosswise(scene, point),
  },
]

function isBefore({ of, way, moment, message, name }: Point, names: readonly string[]): boolean {
  const isSent = of === 'store' && way === 'out' && moment === 'before'
  return isSent && (message === 'Execute' || message === 'Query') && names.includes(name)
}
