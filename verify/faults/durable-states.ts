// The classes of durable state. A process that is killed leaves behind the steps that were durable
// by then, so all points between two durable steps are of one class.
import type { Point } from './points.ts'
import { isCommit } from './statement-names.ts'

const NOTHING = 'nothing'

/** The statements of jobs that are their own transactions. */
const COMMITTING: readonly string[] = ['fetch-operations', 'complete-job']

const isCommitting = (name: string): boolean => isCommit(name) || COMMITTING.includes(name)

/** Around a commit: the statement is not sent, sent, or committed without an acknowledgment. */
export function isCommitBoundary({ peer, message, name }: Point): boolean {
  return (
    peer === 'store' && isCommitting(name) && ['Sync', 'ReadyForQuery', 'Query'].includes(message)
  )
}

/**
 * The class of each point: the name of the last durable step.
 *
 * @param points in the order in which a run reached them.
 * @param before the class in which they begin.
 */
export function durableStates(points: readonly Point[], before = NOTHING): string[] {
  let state = before
  return points.map((point) => {
    if (isDurableStep(point)) state = point.name
    return state
  })
}

/** PostgreSQL commits what it was sent, and the provider has executed what it answers. */
function isDurableStep({ peer, name, message, moment, direction }: Point): boolean {
  if (peer === 'provider') return message === 'reply'
  const isSent =
    direction === 'out' && moment === 'after' && (message === 'Sync' || message === 'Query')
  return isSent && isCommitting(name)
}
