// Limits how many request bodies may arrive at a time, so that slow clients use little memory. When
// the limit is reached, the oldest body is refused: an honest client's body has arrived long before
// that.
import { ProblemError } from '../../domain/problems/problem-error.ts'

/**
 * Creates a function that reads a body within the limit. When the limit is reached, it aborts the
 * oldest read. The reason of the abort is a ProblemError (overloaded) that closes the connection.
 */
export function createBodyLimit(most: number) {
  /** Refuses each body that is arriving; the oldest comes first. */
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
