// Limits how many request bodies may arrive at a time, so that slow clients use little memory. When
// the limit is reached, the oldest body is refused: an honest client's body has arrived long before
// that. A tenant that has half of them gets its own oldest body refused.
import { ProblemError } from '../../domain/problems/problem-error.ts'

/** The share of one tenant, which is one at least, unless there is nothing. */
export function shareOf(all: number): number {
  return Math.ceil(all / 2)
}

/** A body that is arriving. */
interface Arriving {
  readonly tenantId: string | undefined
  readonly refuse: () => void
}

/**
 * Creates a function that reads a body within the limit. When the limit is reached, it aborts the
 * oldest read. The reason of the abort is a ProblemError (overloaded) that closes the connection.
 */
export function createBodyLimit(most: number) {
  /** The oldest comes first. */
  const arriving = new Set<Arriving>()
  const refuseOldest = (bodies: Iterable<Arriving>): void => {
    const [oldest] = bodies
    if (oldest === undefined) return
    arriving.delete(oldest)
    oldest.refuse()
  }

  return async <Value>(
    tenantId: string | undefined,
    read: (refused: AbortSignal) => Promise<Value>,
  ): Promise<Value> => {
    const refusal = new AbortController()
    const refuse = () => {
      refusal.abort(new ProblemError('overloaded', { headers: { connection: 'close' } }))
    }
    const own = [...arriving].filter((body) => body.tenantId === tenantId)
    if (tenantId !== undefined && own.length >= shareOf(most)) refuseOldest(own)
    else if (arriving.size >= most) refuseOldest(arriving)
    const body = { tenantId, refuse }
    arriving.add(body)
    try {
      return await read(refusal.signal)
    } finally {
      arriving.delete(body)
    }
  }
}
