// Replaces a stored response permanently by one that says that it was dropped: for responses that
// contain what they should not. The idempotency key stays used, so that no retry executes anything.
// A completed response changes only so, and each drop begins a new epoch in its own transaction: what was
// copied in an earlier epoch is not valid any more.
import type { Flavor } from '../../domain/problems/flavor.ts'
import type { StoredResponse } from '../../domain/operations/operation.ts'
import { paymentPath } from '../../domain/payments/payment.ts'
import { refundPath } from '../../domain/payments/refund.ts'
import { problemResponse, RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { RESPONSES_DROPPED_CHANNEL } from '../connection/notifications.ts'
import { readServer } from '../connection/server/server.ts'
import type { OperationOverview } from '../operators/lists/operation-overviews.ts'

/** `already_dropped`: another request dropped it first, and nothing changed. */
export type DropResult = 'dropped' | 'already_dropped' | 'not_completed'

/** The operation whose response is dropped. */
export type AnsweredOperation = Pick<
  OperationOverview,
  'tenantId' | 'id' | 'status' | 'paymentId' | 'refundId'
>

/** Replaces the stored response of a completed operation. */
export async function dropResponseIfCompleted(
  tx: Transaction,
  operation: AnsweredOperation,
  flavor: Flavor,
): Promise<DropResult> {
  if (operation.status !== 'completed') return 'not_completed'
  const { tenantId, id } = operation
  const [named] = await tx<{ location: string | null }[]>`
    select response_headers ->> 'location' as location from idempotency_keys
    where tenant_id = ${tenantId} and id = ${id}
  `
  const response = droppedResponse(flavor, named?.location ?? locationOf(operation))
  const { count } = await tx`
    update idempotency_keys set
      response_version = ${RESPONSE_VERSION},
      response_status = ${response.status},
      response_headers = ${JSON.stringify(response.headers)}::jsonb,
      response_body = ${response.body}
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'completed' and response_status <> ${response.status}
  `
  return count > 0 ? 'dropped' : 'already_dropped'
}

function locationOf({ refundId, paymentId }: AnsweredOperation): string | null {
  if (refundId !== null) return refundPath(refundId)
  return paymentId === null ? null : paymentPath(paymentId)
}

/** No other stored response has this status, so that dropping it again changes nothing. */
function droppedResponse(flavor: Flavor, location: string | null): StoredResponse {
  const detail = 'The operation was executed and is not executed again; its response was dropped.'
  const extensions = location === null ? {} : { location }
  const response = problemResponse(flavor, 'response-dropped', detail, extensions)
  return { ...response, headers: { ...response.headers, ...extensions } }
}

/** Begins a new epoch, and announces it when the transaction commits. */
export async function advanceAnswerEpoch(tx: Transaction): Promise<void> {
  await tx`
    insert into answer_epochs (id, epoch) values (1, 1)
    on conflict (id) do update set epoch = answer_epochs.epoch + 1
    returning pg_notify(${RESPONSES_DROPPED_CHANNEL}, '') as announced
  `
}

/**
 * Names the current epoch. The name also changes when the server starts, is promoted or is restored from
 * a backup: an answer that it forgot is not valid any more.
 */
export async function readAnswerEpoch(sql: Sql): Promise<string> {
  const { cluster, timeline, startedAt } = await readServer(sql)
  const [row] = await sql<{ epoch: string }[]>`select epoch::text from answer_epochs where id = 1`
  return [cluster, timeline, startedAt, row?.epoch ?? '0'].join(' ')
}
