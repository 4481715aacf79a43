// Points as runs come to them, for tests of what is planned for them.
import { PointCounter, type Point } from '../../../verify/faults/points.ts'

/** The same message of a worker's claim, one time after the other. */
export function claimsOf(times: number): Point[] {
  const counter = new PointCounter()
  return Array.from({ length: times }, () =>
    counter.count({
      role: 'worker',
      name: 'claim',
      message: 'Execute',
      moment: 'before',
      of: 'store',
      way: 'out',
    }),
  )
}
