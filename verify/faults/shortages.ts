// Faults by which the store itself refuses: no connection left, no room on its disk, two sessions that wait for
// each other. None of them is made up by the proxy: PostgreSQL says so itself.
import { holdConnections } from './connections-full.ts'
import { lockCrosswise } from './deadlock.ts'
import { fillDisk } from './disk-full.ts'
import type { Fault } from './faults.ts'
import type { Point } from './points.ts'

/** Those that write an operation's row. */
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
    // Their statements lock the operation first and its payment next.
    name: 'deadlock',
    strikesAt: (point) => isBefore(point, ['advance', 'finish']),
    strike: (scene, point) => lockCrosswise(scene, point),
  },
]

function isBefore({ of, way, moment, message, name }: Point, names: readonly string[]): boolean {
  const isSent = of === 'store' && way === 'out' && moment === 'before'
  return isSent && (message === 'Execute' || message === 'Query') && names.includes(name)
}
