// The one table of what can be done to a run at a point: each fault by its name, where it can strike, and how.
import type { Lane } from './lane.ts'
import type { Point } from './points.ts'
import type { Verdict } from './watch.ts'

export interface Fault {
  readonly name: string
  readonly strikesAt: (point: Point) => boolean
  /** Done at once, while the point's message is held. */
  readonly strike: (lane: Lane, point: Point) => Verdict
}

export const faults: readonly Fault[] = [
  {
    // Whatever supervises the service starts the next one.
    name: 'SIGKILL',
    strikesAt: () => true,
    strike(lane, { role }) {
      lane.process(role).signal('SIGKILL')
      return { do: 'end' }
    },
  },
  {
    name: 'reset',
    strikesAt: () => true,
    strike: () => ({ do: 'reset' }),
  },
]

/** @throws Error when there is no such fault. */
export function faultNamed(name: string): Fault {
  const fault = faults.find((known) => known.name === name)
  if (fault !== undefined) return fault
  const names = faults.map((known) => known.name).join(', ')
  throw new Error(`no fault is called "${name}"; there are ${names}`)
}
