// Sample points, for tests of plans.
import { PointCounter, type Point } from '../../../verify/faults/points.ts'

/** The same message of a worker's claim, several times in a row. */
export function claimsOf(times: number): Point[] {
  const counter = new PointCounter()
  return Array.from({ length: times }, () =>
    counter.count({
      role: 'worker',
      name: 'claim',
      message: 'Execute',
      moment: 'before',
      peer: 'store',
      direction: 'out',
    }),
  )
}
