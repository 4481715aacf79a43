// The classes of durable state. Whoever is killed at a point leaves behind what had come to last by then, so that
// the points between two steps that last are of one class.
import type { Point } from './points.ts'

const NOTHING = 'nothing'

/** The statements by which an operation comes to be, and moves on. */
export const COMMITTING: readonly string[] = [
  'store-event',
  'reserve',
  'fetch-operations',
  'claim',
  'advance',
  'finish',
  'complete-job',
]

/**
 * The class of each point: the name of the step that was the last one to last.
 *
 * @param points in the order in which a run came to them.
 * @param before the class that they begin in.
 */
export function durableStates(points: readonly Point[], before = NOTHING): string[] {
  let state = before
  return points.map((point) => {
    if (comesToLast(point)) state = point.name
    return state
  })
}

/** PostgreSQL commits whatever it was sent, and the provider has executed what it answers. */
function comesToLast({ of, name, message, moment, way }: Point): boolean {
  if (of === 'provider') return message === 'reply'
  const isSent = way === 'out' && moment === 'after' && (message === 'Sync' || message === 'Query')
  return isSent && COMMITTING.includes(name)
}
