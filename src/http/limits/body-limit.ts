// Bounds how many requests may be arriving at a time, so that slow clients hold little memory, and keep
// nobody out: whoever is honest has arrived long before it is the oldest of them all.
import { ProblemError } from '../../domain/problems/problem-error.ts'

/**
 * Makes room for so many. Whoever comes when it is full takes the place of the one that has been arriving
 * longest: its reading is aborted, to fail with the reason, a ProblemError (overloaded) that has its
 * connection closed.
 */
export function createBodyLimit(most: number) {
  /** In the order in which they have come. */
  const arriving = new Set<() => void>()

  return async <Value>(read: (refused: AbortSignal) => Promise<Value>): Promise<Value> => {
    const refusal = new AbortController()
    const refuse = () => {
      refusal.abort(new ProblemError('overloaded', { headers: { connection: 'close' } }))
    }
    if (arriving.size >= most) refuseOldest(arriving)
    arriving.add(refuse)
    try {
      return await read(refusal.signal)
    } finally {
      arriving.delete(refuse)
    }
  }
}

function refuseOldest(arriving: Set<() => void>): void {
  const [oldest] = arriving
  if (oldest === undefined) return
  arriving.delete(oldest)
  oldest()
}
