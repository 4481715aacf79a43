// Renders the events of /console/live. They have ids and states, and nothing else of a payment.
import type { UnfinishedOperation } from '../../db/operators/unfinished-operations.ts'
import { showId } from '../../domain/resource-id.ts'

/** The media type, which a browser asks for when it waits for events. */
export const EVENT_STREAM = 'text/event-stream'

/** An event names so many operations at most. */
export const OPERATIONS_MAX = 50

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

/** Operations that have become idle: a list that shows them is stale. */
export function changedEvent(ids: readonly string[]): string {
  const shown = ids.filter((id) => UUID.test(id)).slice(0, OPERATIONS_MAX)
  const operations = shown.map((id) => showId('op', id))
  return renderEvent('changed', { operations, has_more: ids.length > OPERATIONS_MAX })
}

/** All operations that wait for a worker or run, and all unknown ones, as they are now. */
export function unfinishedEvent(operations: readonly UnfinishedOperation[]): string {
  return renderEvent('unfinished', { operations: operations.map(present) })
}

/** The last event. After `session` the operator has to log in, after `shutdown` connect again. */
export function endEvent(reason: EndReason): string {
  return renderEvent('end', { reason })
}

export type EndReason = 'shutdown' | 'session'

function present(operation: UnfinishedOperation): Record<string, unknown> {
  const { tenantId, id, paymentId } = operation
  return {
    operation: showId('op', id),
    kind: operation.operation,
    tenant: showId('tnt', tenantId),
    payment: paymentId === null ? null : showId('pay', paymentId),
    status: operation.status,
    recovery_point: operation.recoveryPoint,
    lease_epoch: operation.leaseEpoch,
  }
}

/** JSON has no line breaks, so that one line holds it. */
function renderEvent(event: string, value: Readonly<Record<string, unknown>>): string {
  return `event: ${event}\ndata: ${JSON.stringify(value)}\n\n`
}
