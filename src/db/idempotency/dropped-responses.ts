// Replaces stored responses permanently by one that says that they were dropped: for responses that
// contain what they should not. The idempotency key stays used, so that no retry executes anything.
// A completed response changes only so, and each drop begins a new epoch in its own transaction: what was
// copied in an earlier epoch is not valid any more.
import type { Flavor } from '../../domain/problems/flavor.ts'
import type { OperationRef, StoredResponse } from '../../domain/operations/operation.ts'
import { paymentPath } from '../../domain/payments/payment.ts'
import { refundPath } from '../../domain/payments/refund.ts'
import { problemResponse, RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'
import type { Transaction } from '../connection/client.ts'
import { RESPONSES_DROPPED_CHANNEL } from '../connection/notifications.ts'

/** A completed operation whose response is dropped. */
export interface AnsweredOperation extends OperationRef {
  readonly paymentId: string | null
  readonly refundId: string | null
}

/** Replaces responses. Returns how many were not dropped before. */
export async function dropResponses(
  tx: Transaction,
  operations: readonly AnsweredOperation[],
  flavor: Flavor,
): Promise<number> {
  // It is announced when the transaction commits.
  await tx`
    insert into answer_epochs (id, epoch) values (1, 1)
    on conflict (id) do update set epoch = answer_epochs.epoch + 1
    returning pg_notify(${RESPONSES_DROPPED_CHANNEL}, '') as announced
  `
  let dropped = 0
  for (const operation of operations) dropped += await dropResponse(tx, operation, flavor)
  return dropped
}

async function dropResponse(
  tx: Transaction,
  operation: AnsweredOperation,
  flavor: Flavor,
): Promise<number> {
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
  return count
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
